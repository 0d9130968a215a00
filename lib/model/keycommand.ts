import { isAbsolute, join } from "node:path";
import { unlessAborted } from "../async/unlessaborted.ts";
import { isRecord, parseJson, stringIn } from "../config/json.ts";
import type { Env } from "../config/paths.ts";
import { formatDuration } from "../config/units.ts";
import { KodaError, messageOf } from "../errors.ts";
import { findProgram, isWritable, safeSearchPath } from "../files/program.ts";
import { shortestSecret } from "../shell/env.ts";
import { marked, markVariable, newUsersMark } from "../shell/marks.ts";
import { terminate } from "../system/kill.ts";
import { withSoftLimits } from "../system/limits.ts";
import { sanitize } from "./errorbody.ts";
import type { ApiKey } from "./key.ts";

type KeyCommandOptions = {
  provider: string;
  env: Env;
  /** Directories that commands may write to: a program there is never run. */
  writable: readonly string[];
  limitMs?: number;
  signal?: AbortSignal;
};

/** The key that the user's program prints; `renew` runs it again. */
export async function keyFromCommand(argv: readonly string[], options: KeyCommandOptions): Promise<ApiKey> {
  let { value, expiresAt } = await runKeyCommand(argv, options);
  return {
    get value() {
      return value;
    },
    isExpired: () => expiresAt !== undefined && Date.now() >= expiresAt - marginMs,
    async renew(signal) {
      ({ value, expiresAt } = await runKeyCommand(argv, { ...options, signal }));
    },
  };
}

/** A key that is about to expire would be refused on arrival. */
const marginMs = 10_000;

/** The key of a replay, which runs no program; a recorded 401 is followed by the recorded retry. */
export const replayKey: ApiKey = {
  value: "no-key-in-a-replay",
  isExpired: () => false,
  renew: async () => {},
};

type PrintedKey = { value: string; expiresAt: number | undefined };

async function runKeyCommand(argv: readonly string[], options: KeyCommandOptions) {
  const { provider, env, writable, limitMs = 30_000, signal } = options;
  const [name = "", ...args] = argv;
  const fail = (problem: string, said = "") => {
    const because = said === "" ? "" : `: ${said}`;
    return new KodaError(
      "credentials",
      `Cannot get the API key of the provider "${provider}": api_key_command "${name}" ${problem}${because}`,
    );
  };
  const home = isAbsolute(env.HOME ?? "") ? (env.HOME ?? "") : "/";
  const directories = safeSearchPath(env.PATH ?? "", writable);
  const program = programAt(name.replace(/^~(?=\/)/, home), { home, directories, writable });
  if (program === undefined) throw fail("was not found or is not executable");
  if (isWritable(program, writable))
    throw fail(`is "${program}", which the model's commands can change: use a program outside the project`);

  // The program's own children must not come from a writable directory either.
  const safeEnv = { ...env, PATH: directories.join(":") };
  const { status, stdout, stderr } = await run([program, ...args], { env: safeEnv, home, limitMs, signal, fail });
  const said = sanitize(stderr, secretsIn(stdout));
  if (status === "timeout") throw fail(`did not finish within ${formatDuration(limitMs)} and was stopped`, said);
  if (status !== 0) throw fail(typeof status === "number" ? `exited with ${status}` : `was killed by ${status}`, said);
  const printed = keyIn(stdout.trim());
  if (printed === undefined)
    throw fail("did not print a key: expected one line without spaces, or JSON with api_key", said);
  return printed;
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
  signal: AbortSignal | undefined;
  fail: (problem: string) => KodaError;
};

/** Runs the program in the user's home with the user's environment and an empty stdin. */
async function run(argv: string[], { env, home, limitMs, signal, fail }: RunOptions) {
  const mark = newUsersMark();
  const own = { ...env, [markVariable]: mark.toString() };
  const child = withSoftLimits({ realTime: mark }, () => spawn(argv, { env: own, home, fail }));
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

function spawn(argv: string[], { env, home, fail }: Pick<RunOptions, "env" | "home" | "fail">) {
  const safeEnv = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("BUN_")));
  try {
    return Bun.spawn(argv, { cwd: home, env: safeEnv, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  } catch (error) {
    throw fail(`did not start: ${messageOf(error)}`);
  }
}

/** `text` is the output so far; output far longer than a key is dropped. */
function collect(stream: ReadableStream<Uint8Array>): { ended: Promise<void>; text: () => string } {
  const decoder = new TextDecoder();
  let text = "";
  const read = async () => {
    for await (const chunk of stream) if (text.length < mostCharacters) text += decoder.decode(chunk, { stream: true });
  };
  return { ended: read(), text: () => text };
}

const mostCharacters = 64 * 1024;

/** The key on a line, or `{"api_key": "…", "expires_at": "2026-11-19T12:00:00Z"}`; a Unix time is accepted too. */
function keyIn(printed: string): PrintedKey | undefined {
  const json = parseJson(printed);
  if (!isRecord(json)) {
    const line = typeof json === "string" ? json : printed;
    return isKey(line) ? { value: line, expiresAt: undefined } : undefined;
  }
  const value = stringIn(json, "api_key")?.trim() ?? "";
  return isKey(value) ? { value, expiresAt: timeOf(json.expires_at) } : undefined;
}

function isKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

function timeOf(value: unknown): number | undefined {
  const ms = typeof value === "number" ? value * 1000 : typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** Any part of the output may be a key. */
function secretsIn(stdout: string): string[] {
  return stdout.split(/[\s"',:{}]+/).filter((part) => part.length >= shortestSecret);
}
