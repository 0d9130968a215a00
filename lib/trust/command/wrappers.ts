import { together, unknownWrite } from "./claims.ts";
import { parseOptions } from "./options.ts";
import type { ProgramRule } from "./program.ts";
import { forkScope } from "./scope.ts";
import { spotsOf } from "./spot.ts";
import { unknownProgram, writeTo, writeToAll } from "./targets.ts";
import { exact, joined, wild, type Text } from "./text.ts";
import { steer } from "./variables.ts";

type Wrapper = {
  /** Options with a value, separated by blanks. */
  takes?: string;
  /** Options whose value is a file that it writes. */
  writes?: string;
  /** How many operands are its own, before the command begins. */
  own?: number;
};

/** Programs that run the command which follows their options, and add nothing to what it does. */
const plain: Readonly<Record<string, Wrapper>> = {
  builtin: {},
  busybox: {},
  caffeinate: { takes: "-t -w" },
  chronic: {},
  chrt: { own: 1, takes: "-T -P -D" },
  fakeroot: {},
  ionice: { takes: "-c -n -p --class --classdata" },
  ltrace: { takes: "-e -n -p -s -u", writes: "-o --output" },
  nice: { takes: "-n --adjustment" },
  nohup: {},
  setsid: {},
  stdbuf: { takes: "-i -o -e --input --output --error" },
  strace: { takes: "-e -p -s -u -E -P -I -O -X -a -b -S --trace", writes: "-o --output" },
  taskset: { own: 1, takes: "-p" },
  time: { takes: "-f --format", writes: "-o --output" },
  timeout: { own: 1, takes: "-k --kill-after -s --signal" },
  toybox: {},
  unbuffer: {},
  "xvfb-run": { takes: "-e -f -n -p -s -w" },
};

export const wrappers: Readonly<Record<string, ProgramRule>> = {
  ...Object.fromEntries(Object.entries(plain).map(([name, wrapper]) => [name, wrap(wrapper)])),

  command: ({ args, scope, run }) => {
    const { operands, has } = parseOptions(args, { leading: true });
    return has("-v", "-V") ? together([]) : run(operands, scope);
  },

  env: ({ args, scope, run, script }) => {
    const { operands, values, unclear } = parseOptions(args, {
      takes: "-u --unset -C --chdir -S --split-string",
      leading: true,
    });
    const [split] = values("-S", "--split-string");
    if (split !== undefined) return script(joined([split, ...operands]));
    const [directory] = values("-C", "--chdir");
    const inner = forkScope(scope);
    if (directory !== undefined) inner.cwds = spotsOf(directory, scope);
    const start = operands.findIndex(({ head }) => !/^[A-Za-z_]\w*=/.test(head));
    const line = start === -1 ? [] : operands.slice(start);
    const settings = operands.slice(0, operands.length - line.length).map(setting);
    return together([...settings, run(line, inner), ...(unclear ? [unknownWrite] : [])]);
  },

  /** Its own arguments, and then names that it reads: those that the pipeline is known to bring, or any. */
  xargs: ({ args, scope, run }) => {
    const { operands, values, unclear } = parseOptions(args, {
      takes: "-a --arg-file -d --delimiter -E -I --replace -L --max-lines -n --max-args -P --max-procs -s --max-chars",
      leading: true,
    });
    const line = operands.length === 0 ? [exact("echo")] : operands;
    const fromFile = values("-a", "--arg-file").length > 0;
    const names = (fromFile ? undefined : scope.input)?.flatMap(fields) ?? [wild];
    const [placeholder] = values("-I", "--replace");
    const full = placeholder === undefined ? [...line, ...names] : replaced(line, placeholder.head, names);
    return together([run(full, { ...forkScope(scope), input: undefined }), ...(unclear ? [unknownWrite] : [])]);
  },

  parallel: ({ args, scope, script }) => {
    const { operands } = parseOptions(args, {
      takes: "-j --jobs -a --arg-file -I -n -N --delay --timeout",
      leading: true,
    });
    const end = operands.findIndex(({ head }) => head.startsWith(":::"));
    const line = end === -1 ? operands : operands.slice(0, end);
    const names = end === -1 ? [wild] : operands.slice(end + 1);
    if (line.length === 0) return unknownProgram(scope);
    return together(names.map((name) => script(joined(replaced(line, "{}", [name])))));
  },

  watch: ({ args, script }) => {
    const { operands } = parseOptions(args, { takes: "-n --interval", leading: true });
    return script(joined(operands));
  },

  flock: ({ args, scope, run, script }) => {
    const { operands, has, values } = parseOptions(args, {
      takes: "-w --timeout -E --conflict-exit-code -c --command",
      leading: true,
    });
    const [lock, ...line] = operands;
    const inner = parseOptions(line, { takes: "-c --command", leading: true });
    const texts = [...values("-c", "--command"), ...inner.values("-c", "--command")];
    const commands = texts.length > 0 ? texts.map((text) => script(text)) : [run(line)];
    const isFile = lock !== undefined && !has("-u", "--unlock");
    return together([...commands, ...(isFile ? [writeTo(lock, scope)] : [])]);
  },
};

function wrap({ takes = "", writes = "", own = 0 }: Wrapper): ProgramRule {
  return ({ args, scope, run }) => {
    const { operands, values, unclear } = parseOptions(args, { takes: `${takes} ${writes}`, leading: true });
    const written = writeToAll(writes === "" ? [] : values(...writes.split(" ")), scope);
    return together([written, run(operands.slice(own)), ...(unclear ? [unknownWrite] : [])]);
  };
}

function setting({ head, rest }: Text) {
  const equals = head.indexOf("=");
  return steer(head.slice(0, equals), { head: head.slice(equals + 1), rest });
}

function fields(text: Text): readonly Text[] {
  if (text.rest !== "none") return [text];
  return text.head
    .split(/\s+/)
    .filter((field) => field !== "")
    .map(exact);
}

/** The line with the names in place of the placeholder; where it has none they come last. */
export function replaced(line: readonly Text[], placeholder: string, names: readonly Text[]): readonly Text[] {
  if (!line.some(({ head }) => head.includes(placeholder))) return [...line, ...names];
  return line.flatMap((text) => {
    const at = text.head.indexOf(placeholder);
    if (at === -1) return [text];
    const after = text.head.slice(at + placeholder.length);
    return names.map((name) =>
      name.rest === "none"
        ? { ...text, head: text.head.slice(0, at) + name.head + after }
        : { head: text.head.slice(0, at) + name.head, rest: name.rest },
    );
  });
}
