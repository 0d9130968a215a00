import { isAbsolute, join } from "node:path";
import { unlessAborted } from "../async/unlessaborted.ts";
import { formatDuration } from "../config/units.ts";
import { type KodaError, messageOf } from "../errors.ts";
import { findProgram, isWritable, safeSearchPath } from "../files/program.ts";
import { terminate } from "../system/kill.ts";
import { withSoftLimits } from "../system/limits.ts";
import { shortestSecret } from "./env.ts";
import { marked, markVariable, newUsersMark } from "./marks.ts";

/** Environment variables by name. */
type Env = Readonly<Record<string, string | undefined>>;

/** The output of a program; what is far longer than a secret is cut. */
type Printed = { stdout: string; stderr: string };

export type UsersProgramOptions = {
  env: Env;
  /** Directories that commands may write to: a program there is never run. */
  writable: readonly string[];
  limitMs?: number | undefined;
  /** Empty when absent. */
  stdin?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Makes the error for a program that did not do it: `problem` follows its name. */
  fail: (problem: string, printed?: Printed) => KodaError;
};

/**
 * Runs a program of the user's own configuration or command line, which may print a secret: outside the sandbox, in the
 * user's home with the user's environment.
 */
export async function runUsersProgram(argv: readonly string[], options: UsersProgramOptions): Promise<Printed> {
  const { env, writable, limitMs = 30_000, stdin, signal, fail } = options;
  const [name = "", ...args] = argv;
  const home = isAbsolute(env.HOME ?? "") ? (env.HOME ?? "") : "/";
  const directories = safeSearchPath(env.PATH ?? "", writable);
  const program = programAt(name.replace(/^~(?=\/)/, home), { home, directories, writable });
  if (program === undefined) throw fail("was not found or is not executable");
  if (isWritable(program, writable))
    throw fail(`is "${program}", which the model's commands can change: use a program outside the project`);

  // The program's own children must not come from a writable directory either.
  const safeEnv = { ...env, PATH: directories.join(":") };
  const { status, ...printed } = await run([program, ...args], { env: safeEnv, home, limitMs, stdin, signal, fail });
  if (status === "timeout") throw fail(`did not finish within ${formatDuration(limitMs)} and was stopped`, printed);
  if (status === 0) return printed;
  throw fail(typeof status === "number" ? `exited with ${status}` : `was killed by ${status}`, printed);
}

/** Any part of the output may be a secret. */
export function printedSecrets(stdout: string): string[] {
  return stdout.split(/[\s"',:{}]+/).filter((part) => part.length >= shortestSecret);
}

type Search = { home: string; directories: readonly string[]; writable: readonly string[] };

/**
 * A relative path starts in the home directory, where the program runs. A bare name is looked up in directories that
 * commands cannot write to.
 */
function programAt(name: string, { home, directories, writable }: Search): string | undefined {
  if (name.includes("/")) return Bun.which(isAbsolute(name) ? name : join(home, name)) ?? undefined;
  return findProgram(name, directories, writable);
}

/** An exit code, the name of a signal, or a timeout. */
type ExitStatus = number | string;
type RunOptions = {
  env: Env;
  home: string;
  limitMs: number;
  stdin: string | undefined;
  signal: AbortSignal | undefined;
  fail: (problem: string) => KodaError;
};

async function run(argv: string[], { env, home, limitMs, stdin, signal, fail }: RunOptions) {
  const mark = newUsersMark();
  const own = { ...env, [markVariable]: mark.toString() };
  const child = withSoftLimits({ realTime: mark }, () => spawn(argv, { env: own, home, stdin, fail }));
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const done = Promise.all([child.exited, stdout.ended, stderr.ended]).then(([code]) => child.signalCode ?? code);
  const limit = AbortSignal.timeout(limitMs);
  const stop = AbortSignal.any(signal === undefined ? [limit] : [limit, signal]);
  const status: ExitStatus = await unlessAborted(done, stop).catch(async (error: unknown) => {
    if (!stop.aborted) throw error;
    await terminate(() => marked(mark).map(({ pid }) => pid));
    // Without /proc no marks can be found.
    child.kill("SIGKILL");
    signal?.throwIfAborted();
    return "timeout";
  });
  return { status, stdout: stdout.text(), stderr: stderr.text() };
}

function spawn(argv: string[], { env, home, stdin, fail }: Pick<RunOptions, "env" | "home" | "stdin" | "fail">) {
  const safeEnv = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("BUN_")));
  try {
    return Bun.spawn(argv, {
      cwd: home,
      env: safeEnv,
      stdin: stdin === undefined ? "ignore" : new Blob([stdin]),
      stdout: "pipe",
      stderr: "pipe",
    });
  } catch (error) {
    throw fail(`did not start: ${messageOf(error)}`);
  }
}

/** `text` is the output so far; output far longer than a secret is dropped. */
function collect(stream: ReadableStream<Uint8Array>): { ended: Promise<void>; text: () => string } {
  const decoder = new TextDecoder();
  let text = "";
  const read = async () => {
    for await (const chunk of stream) if (text.length < mostCharacters) text += decoder.decode(chunk, { stream: true });
  };
  return { ended: read(), text: () => text };
}

const mostCharacters = 64 * 1024;
