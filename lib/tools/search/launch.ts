import { basename, dirname } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { HeldDirectory } from "../../files/held.ts";
import { failedStep } from "../../sandbox/assembly/failure.ts";
import { type Policy, readOnly } from "../../sandbox/policy/policy.ts";
import { seenPath } from "../../sandbox/policy/seen.ts";
import { whyStepFailed } from "../../sandbox/tiers/failures.ts";
import { Unavailable } from "../../sandbox/tiers/unavailable.ts";
import type { Shell } from "../../shell/shell.ts";
import type { GrepFault } from "./found.ts";
import { ripgrepProgram } from "./program.ts";
import { relativeTo, rulesFromAbove } from "./rules.ts";
import type { SearchScope } from "./scope.ts";

/** A search may use these of a call's context. */
export type Searching = { shell: Pick<Shell, "open" | "confined">; policy: Policy; signal: AbortSignal };

/** Starts ripgrep for one search. */
export type Launch = Start & { run(args: readonly string[]): Promise<Output | GrepFault> };

/** `unreadable` counts the paths that ripgrep could not read. */
type Output = { output: string; unreadable: number };

/** The place where ripgrep starts. */
type Start = {
  /** Its path, and the path by which the shell starts commands there. */
  directory: string;
  cwd: string;
  /** A path as ripgrep calls it: from where it starts, without a slash at the beginning. */
  named(path: string): string;
  /** The arguments that stand for these files of the base, with their paths. */
  argumentsFor(paths: readonly string[]): ReadonlyMap<string, string>;
};

/**
 * In a sandbox ripgrep starts at the root, since the base may have another name there, and may only read: the kernel
 * decides what, also of a file that has become a link since it was counted. Without one, nothing does: then it starts
 * in a directory that is held, and prints the lines of files that are held, so that at least those are no links. `held`
 * is disposed of after the search.
 */
export async function launchFor(
  scope: SearchScope,
  { shell, policy, signal }: Searching,
  held: DisposableStack,
): Promise<Launch | GrepFault> {
  try {
    const program = await ripgrepProgram(policy.tmp);
    if (program === undefined) return { fault: "this build of koda has no ripgrep for this platform" };
    const start = shell.confined ? startAtRoot(scope, policy) : startHeld(scope, held);
    if (start === undefined) return { fault: "the directory is gone, or was replaced meanwhile" };
    const rules = rulesFromAbove(scope, start.directory);
    const given = { cwd: start.cwd, policy: readOnlyFor(policy), program: program.descriptor, signal };
    return { ...start, run: async (args) => outputOf(shell, { line: [program.path, ...args], rules, given }) };
  } catch (error) {
    if (error instanceof Unavailable) return { fault: error.message };
    throw error;
  }
}

function startAtRoot({ base }: SearchScope, policy: Policy): Start {
  const named = (path: string) => relativeTo("/", seenPath(path, policy));
  const below = base === "/" ? "" : `${named(base)}/`;
  return {
    directory: "/",
    cwd: "/",
    named,
    argumentsFor: (paths) => new Map(paths.map((path) => [`./${below}${path}`, path])),
  };
}

function startHeld({ base, top }: SearchScope, held: DisposableStack): Start | undefined {
  const open = (path: string) => unlessRefused(() => held.use(HeldDirectory.open(path)));
  const [cwd, inside] = [open(top)?.cwd, open(base)];
  if (cwd === undefined || inside === undefined) return undefined;
  return {
    directory: top,
    cwd,
    named: (path) => relativeTo(top, path),
    argumentsFor(paths) {
      const named = paths.map(
        (path) => [unlessRefused(() => held.use(openIn(inside, path)).descriptor), path] as const,
      );
      return new Map(
        named.flatMap(([file, path]) => (file === undefined ? [] : [[`/proc/${process.pid}/fd/${file}`, path]])),
      );
    },
  };
}

function openIn(base: HeldDirectory, path: string) {
  using directory = base.descend(dirname(path));
  return directory.openFile(basename(path));
}

/** A backend keeps what it makes of a policy as long as that same record is passed. */
const narrowed = new WeakMap<Policy, Policy>();

function readOnlyFor(policy: Policy): Policy {
  const known = narrowed.get(policy);
  const made = known ?? { ...readOnly(policy), network: "none" };
  if (known === undefined) narrowed.set(policy, made);
  return made;
}

type Run = {
  line: readonly [string, ...string[]];
  rules: string;
  given: Omit<Parameters<Shell["open"]>[1], "stderr">;
};

async function outputOf(shell: Searching["shell"], { line, rules, given }: Run): Promise<Output | GrepFault> {
  const [pieces, complaints]: [Buffer[], Buffer[]] = [[], []];
  const child = shell.open(line, { ...given, stderr: (bytes) => void complaints.push(Buffer.from(bytes)) });
  void child.stdin.write(rules).then(() => child.stdin.close());
  for await (const piece of child.stdout) pieces.push(Buffer.from(piece));
  const { exitCode } = await child.ended;
  given.signal?.throwIfAborted();
  const [output, said] = [pieces, complaints].map((bytes) => Buffer.concat(bytes).toString()) as [string, string];
  if (exitCode === 0 || exitCode === 1) return { output, unreadable: 0 };
  // It ends with 2 as well when all it had to complain about was a file that it could not read.
  const lines = said.split("\n").filter((text) => text !== "");
  const isAboutFiles = lines.every((text) => /^rg: \.?\//.test(text) && !text.includes(": PCRE2:"));
  return exitCode === 2 && isAboutFiles ? { output, unreadable: lines.length } : faultOf(said, exitCode);
}

function faultOf(said: string, exitCode: number): GrepFault {
  const failed = failedStep(said);
  if (failed !== undefined) return { fault: whyStepFailed(failed).message };
  const [, ownFault] = /^error: (.*)$/m.exec(said) ?? [];
  const [, otherFault] = /^PCRE2: error compiling pattern.*?: (.*)$/m.exec(said) ?? [];
  // Two engines were asked; the second one can do more.
  const fault = ownFault?.endsWith("not supported") === true ? otherFault : ownFault;
  if (fault === undefined) return { fault: said.trim() || `ripgrep ended with exit code ${exitCode}` };
  const [, space] = /^ {4}\(\?:.*\n {7}( *)\^/m.exec(said) ?? [];
  return { fault, pattern: fault === ownFault && space !== undefined ? { at: space.length } : {} };
}
