import { awk } from "./awk.ts";
import { builtins } from "./builtins.ts";
import { destructive, together } from "./claims.ts";
import { noEffect } from "../claim.ts";
import { find } from "./find.ts";
import { git } from "./git.ts";
import { interpreters } from "./interpreters.ts";
import { parseOptions } from "./options.ts";
import type { ProgramCall, ProgramRule } from "./program.ts";
import { readerNamed } from "./readers.ts";
import { sed } from "./sed.ts";
import { serviceClaim } from "./services.ts";
import { unknownProgram } from "./targets.ts";
import { transfers } from "./transfers.ts";
import { wrappers } from "./wrappers.ts";
import { writers } from "./writers.ts";

/** How a program of this name is judged: by what is known of it, or else as one that may write anything here. */
export function programNamed(name: string): ProgramRule {
  return special.get(name) ?? readerNamed(name) ?? ordinary;
}

const special: ReadonlyMap<string, ProgramRule> = new Map<string, ProgramRule>([
  ...Object.entries(writers),
  ...Object.entries(transfers),
  ...Object.entries(interpreters),
  ...Object.entries(wrappers),
  ...Object.entries(builtins),
  ["awk", awk],
  ["gawk", awk],
  ["mawk", awk],
  ["nawk", awk],
  ["fd", fd],
  ["fdfind", fd],
  ["find", find],
  ["git", git],
  ["kill", kill],
  ["sed", sed],
  ["gsed", sed],
]);

function ordinary(call: ProgramCall) {
  return serviceClaim(call) ?? (asksForHelp(call) ? noEffect : unknownProgram(call.scope));
}

/** Every program may do what it wants with `--help`, but those that are installed do what everyone expects. */
function asksForHelp({ args }: ProgramCall): boolean {
  const [only, ...others] = args;
  return others.length === 0 && only?.rest === "none" && /^(--version|--help|-V)$/.test(only.head);
}

/** Like find, with the command after `-x` or `-X`. */
function fd({ args, scope, run }: ProgramCall) {
  const at = args.findIndex(({ head }) => /^(-x|-X|--exec|--exec-batch)$/.test(head));
  const attached = args.some(({ head }) => /^(--exec(-batch)?=|-[a-zA-Z]*[xX].)/.test(head));
  if (at === -1) return attached ? unknownProgram(scope) : noEffect;
  const line = args.slice(at + 1).filter(({ head }) => head !== ";");
  return together([run([...line, { head: "", rest: "tame" }])]);
}

/** Processes are no files. `kill -9 -1` ends every process of the user. */
function kill({ args, scope }: ProgramCall) {
  const { operands } = parseOptions(args, { takes: "-s -n" });
  const isAll = args.length > 1 && args.at(-1)?.head === "-1";
  if (isAll) return destructive("kill -1");
  return operands.length === 0 ? noEffect : unknownProgram(scope);
}
