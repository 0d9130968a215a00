import type { Subprocess } from "bun";
import { totalmem } from "node:os";
import { dirname } from "node:path";
import { Complaints } from "../system/complaints.ts";
import { memoryOf, sleepingAt } from "../system/procstat.ts";
import { findProgram, safeSearchPath } from "../files/program.ts";
import { isDiskFull, speaksOfLackOfSpace } from "../files/space.ts";

/** The git program, as an absolute path. */
export type Git = string;

/** The first git on the search path that no command of this run can have put there. */
export function findGit(searchPath: string | undefined, writable: readonly string[]): Git | undefined {
  return findProgram("git", safeSearchPath(searchPath ?? "/usr/local/bin:/usr/bin:/bin", writable), writable);
}

export type GitRun = {
  git: Git;
  /** A git directory that koda made, so that no configuration but koda's own is read. */
  directory: string;
  workTree: string;
  cwd: string;
  signal: AbortSignal;
  /** In bytes; half of the machine's by default. */
  mostMemory?: number;
};

/** Text, or bytes where it has names as git has them. */
type GitInput = string | Uint8Array;

/** Runs one plumbing command to its end and returns what it printed. */
export async function runGit(run: GitRun, args: readonly string[], input: GitInput = ""): Promise<Uint8Array> {
  const { exitCode, output, complaint } = await tryGit(run, args, input);
  if (exitCode === 0) return output;
  throw gitFailure(run, args, { exitCode, complaint });
}

/** git could not do its work: the repository is damaged, or not as git wants it. */
export class GitError extends Error {
  override readonly name = "GitError";
  /** Undefined when git did not end by itself. */
  readonly exitCode: number | undefined;
  /** The disk with the git directory is full. */
  readonly isForLackOfSpace: boolean;

  constructor(message: string, { exitCode, isForLackOfSpace = false }: GitErrorDetails = {}) {
    super(message);
    this.exitCode = exitCode;
    this.isForLackOfSpace = isForLackOfSpace;
  }
}

type GitErrorDetails = { exitCode?: number; isForLackOfSpace?: boolean };

/** The failure of a command, whose complaint may have names of files in it, and so any words. */
export function gitFailure(
  { directory }: Pick<GitRun, "directory">,
  args: readonly string[],
  { exitCode, complaint }: Pick<Outcome, "exitCode" | "complaint">,
): GitError {
  const isForLackOfSpace = speaksOfLackOfSpace(complaint) && isDiskFull(directory);
  const message = `git ${args[0]} failed with exit code ${exitCode}: ${complaint.trim()}`;
  return new GitError(message, { exitCode, isForLackOfSpace });
}

type Outcome = { exitCode: number; output: Uint8Array; complaint: string };

/** The same for a command whose exit code is its answer. */
export async function tryGit(run: GitRun, args: readonly string[], input: GitInput = ""): Promise<Outcome> {
  const pieces: Uint8Array[] = [];
  const printing = printedBy(run, args, input);
  while (true) {
    const { done, value } = await printing.next();
    if (done === true) return { ...value, output: Buffer.concat(pieces) };
    pieces.push(value);
  }
}

/** Runs one and passes on its output as it comes, which may be of any size. Its reader must not let git wait. */
export async function* streamGit(run: GitRun, args: readonly string[]): AsyncGenerator<Uint8Array, void> {
  const { exitCode, complaint } = yield* printedBy(run, args, "");
  if (exitCode !== 0) throw gitFailure(run, args, { exitCode, complaint });
}

async function* printedBy(
  { git, directory, workTree, cwd, signal, mostMemory = halfOfMachine() }: GitRun,
  args: readonly string[],
  input: GitInput,
): AsyncGenerator<Uint8Array, Omit<Outcome, "output">> {
  signal.throwIfAborted();
  using complaints = new Complaints();
  const child = Bun.spawn([git, ...safeSettings, ...args], {
    cwd,
    env: {
      PATH: `${dirname(git)}:/usr/bin:/bin`,
      HOME: directory,
      LC_ALL: "C",
      GIT_DIR: directory,
      GIT_WORK_TREE: workTree,
      ...safeEnvironment,
    },
    stdin: typeof input === "string" ? new TextEncoder().encode(input) : input,
    stdout: "pipe",
    stderr: complaints.stderr,
    signal,
  });
  try {
    using watch = new GitWatch(child, mostMemory);
    for await (const piece of child.stdout) yield piece;
    const exitCode = await child.exited;
    signal.throwIfAborted();
    if (watch.fault !== undefined) throw new GitError(`git ${args[0]} ${watch.fault}`);
    return { exitCode, complaint: complaints.text };
  } finally {
    // The reader may have had enough.
    child.kill("SIGKILL");
  }
}

/** A few objects can be a tree of more files than there is memory for, and the kernel might end koda for that. */
function halfOfMachine(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Infinity) / 2;
}

/**
 * Ends a git that takes all memory, or that does nothing but sleep: it opens a `.gitignore` or `.gitattributes`
 * whatever it is, and a named pipe would hold it, and koda, for ever. While git works it computes or waits for a disk.
 */
class GitWatch implements Disposable {
  fault: string | undefined;
  readonly #child: Pick<Subprocess, "pid" | "kill">;
  readonly #mostMemory: number;
  readonly #timer: Timer;
  #sleep: { since: number | undefined; looks: number } = { since: undefined, looks: 0 };

  constructor(child: Pick<Subprocess, "pid" | "kill">, mostMemory: number) {
    this.#child = child;
    this.#mostMemory = mostMemory;
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  #look(): void {
    const since = sleepingAt(this.#child.pid);
    const isSame = since !== undefined && since === this.#sleep.since;
    this.#sleep = { since, looks: isSame ? this.#sleep.looks + 1 : 0 };
    const memory = memoryOf(this.#child.pid) ?? 0;
    if (memory > this.#mostMemory)
      this.#end(`needs more than ${Math.floor(this.#mostMemory / 1024 / 1024)} MiB of memory`);
    else if (this.#sleep.looks >= mostLooks) this.#end('waits for a named pipe, such as a ".gitignore" that is one');
  }

  #end(fault: string): void {
    this.fault ??= fault;
    this.#child.kill("SIGKILL");
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

const lookMs = 250;
const mostLooks = 8;

/**
 * Turns off what makes git run other programs, or look outside. The configuration of the user, the machine and the
 * repository is not read anyway.
 */
const safeSettings = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.untrackedCache", "false"],
  ["core.quotePath", "false"],
  ["protocol.allow", "never"],
].flatMap(([key, value]) => ["-c", `${key}=${value}`]);

const safeEnvironment = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_NO_LAZY_FETCH: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
};
