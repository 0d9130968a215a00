import { mayBeOption, type Text } from "./text.ts";

/** A command's arguments, parsed the way most programs do it. */
export type ParsedOptions = {
  /** As written, a cluster `-rf` once more as `-r` and `-f`, and `--long=value` as `--long`. */
  readonly given: ReadonlySet<string>;
  readonly operands: readonly Text[];
  /** Some argument is not known and could be any option. */
  readonly unclear: boolean;
  has(...names: readonly string[]): boolean;
  /** The values given to options that take one. */
  values(...names: readonly string[]): readonly Text[];
};

type Style = {
  /** The options whose value may be the next argument, separated by blanks. */
  takes?: string;
  /** The first operand ends the options: what follows is another command's. */
  leading?: boolean;
};

export function parseOptions(args: readonly Text[], { takes = "", leading = false }: Style = {}): ParsedOptions {
  const taking = takes.split(/\s+/).filter((name) => name !== "");
  const given = new Set<string>();
  const valued: [name: string, value: Text][] = [];
  const operands: Text[] = [];
  let unclear = false;

  for (let index = 0; index < args.length; index++) {
    const arg = args[index];
    if (arg === undefined) break;
    if (arg.head === "--" && arg.rest === "none") {
      operands.push(...args.slice(index + 1));
      break;
    }
    if (mayBeOption(arg)) unclear = true;
    if (!arg.head.startsWith("-") || arg.head === "-") {
      operands.push(...(leading ? args.slice(index) : [arg]));
      if (leading) break;
      continue;
    }
    const option = arg.head.startsWith("--") ? longOption(arg, taking) : shortOptions(arg, taking);
    for (const name of option.names) given.add(name);
    if (option.wants === undefined) continue;
    const value = option.value ?? args[++index];
    if (value !== undefined) valued.push([option.wants, value]);
  }

  return {
    given,
    operands,
    unclear,
    has: (...names) => names.some((name) => [...given].some((one) => means(one, name))),
    values: (...names) => valued.filter(([one]) => names.some((name) => means(one, name))).map(([, value]) => value),
  };
}

type Option = { names: string[]; wants?: string; value?: Text };

function longOption({ head, rest }: Text, taking: readonly string[]): Option {
  const equals = head.indexOf("=");
  if (equals !== -1) {
    const name = head.slice(0, equals);
    return { names: [name], wants: name, value: { head: head.slice(equals + 1), rest } };
  }
  return taking.some((name) => means(head, name)) ? { names: [head], wants: head } : { names: [head] };
}

function shortOptions({ head, rest }: Text, taking: readonly string[]): Option {
  const names = [head];
  // Some programs have long options with one dash (`-chdir`), and those may take values too.
  if (head.length > 2 && taking.includes(head)) return { names, wants: head };
  for (let at = 1; at < head.length; at++) {
    const name = `-${head[at]}`;
    names.push(name);
    if (!taking.includes(name)) continue;
    const attached = head.slice(at + 1);
    return attached === "" && rest === "none"
      ? { names, wants: name }
      : { names, wants: name, value: { head: attached, rest } };
  }
  return { names };
}

/** GNU programs take any beginning of a long option for it. */
function means(written: string, name: string): boolean {
  return written === name || (written.length > 3 && written.startsWith("--") && name.startsWith(written));
}
