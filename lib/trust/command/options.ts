import { anything, isLiteral } from "./words.ts";

export type Arguments = {
  /** Arguments that are no options; a loose one may be the value of the option before it, or nothing at all. */
  readonly operands: readonly { readonly text: string; readonly at: number; readonly loose: boolean }[];
  /** Options, `-rf` once more as `-r` and `-f`; with the value that they were given. */
  readonly options: readonly Option[];
  /** Some argument is not literal and could be any option. */
  readonly unclear: boolean;
};

type Option = { readonly name: string; readonly at: number; value?: string | undefined };

/** Options of so many programs that nobody would take the next word for their value. */
const flags =
  /^(-[qvyPnlErzagi0]+|--(quiet|verbose|silent|yes|debug|json|locked|offline|frozen|global|all|bare|posix|no-[a-z-]+))$/;

/** Reads a program's arguments the way most programs do; `takes` are the options that have a value. */
export function readArguments(args: readonly string[], takes: ReadonlyMap<string, unknown>): Arguments {
  const operands: { text: string; at: number; loose: boolean }[] = [];
  const options: Option[] = [];
  const end = args.indexOf("--") === -1 ? args.length : args.indexOf("--");
  let unclear = false;
  let loose = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (at === end) continue;
    if (at > end || !arg.startsWith("-") || arg === "-") {
      operands.push({ text: arg, at, loose: loose || arg === anything });
      unclear ||= at < end && arg.startsWith(anything);
      loose = false;
      continue;
    }
    const found = optionsIn(arg, at, takes);
    const last = found.at(-1);
    const isTaking = last !== undefined && takes.has(last.name) && last.value === undefined;
    if (isTaking) last.value = args[++at];
    loose = !isTaking && last?.value === undefined && !flags.test(arg);
    unclear ||= found.some(({ name }) => !isLiteral(name));
    options.push(...found);
  }
  return { operands, options, unclear };
}

function optionsIn(arg: string, at: number, takes: ReadonlyMap<string, unknown>): Option[] {
  const equals = arg.indexOf("=");
  const name = equals === -1 ? arg : arg.slice(0, equals);
  const whole: Option = { name, at, value: equals === -1 ? undefined : arg.slice(equals + 1) };
  if (arg.startsWith("--") || takes.has(name)) return [whole];
  // Some programs have long options with one dash, so `-chdir=x` is kept whole as well.
  const found: Option[] = arg.length > 2 ? [whole] : [];
  for (let index = 1; index < arg.length; index++) {
    const letter = `-${arg[index]}`;
    const isTaking = takes.has(letter);
    const rest = isTaking ? arg.slice(index + 1).replace(/^=/, "") : "";
    found.push({ name: letter, at, value: rest === "" ? undefined : rest });
    if (isTaking) break;
  }
  return found;
}
