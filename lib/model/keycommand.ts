import { realpathSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { KodaError, messageOf, unlessRefused } from "../errors.ts";
import { isBelow } from "../files/path.ts";
import { takeDown } from "../system/kill.ts";
import { marked, markVariable, newFamily } from "../shell/processes.ts";
import { isRecord, parseJson, stringIn } from "../config/json.ts";
import type { Environment } from "./address.ts";
import type { ApiKey } from "./providers.ts";
import { trimmed } from "./said.ts";

type Circumstances = {
  provider: string;
  env: Environment;
  /** Directories in which commands may put a program of that name. */
  writable: readonly string[];
  limitMs?: number;
  signal?: AbortSignal;
};

/** The key that the user's own program prints, and the way to ask it for another one. */
export async function keyFromCommand(argv: readonly string[], circumstances: Circumstances): Promise<ApiKey> {
  let { value, expiresAt } = await runKeyCommand(argv, circumstances);
  return {
    get value() {
      return value;
    },
    isExpired: () => expiresAt !== undefined && Date.now() >= expiresAt - marginMs,
    async renew(signal) {
      ({ value, expiresAt } = await runKeyCommand(argv, { ...circumstances, signal }));
    },
  };
}

/** A key that expires while a request is on its way is refused. */
const marginMs = 10_000;

/** For a replay: no program is run, and what the recorded provider refused is asked for again from the tape. */
export const recordedKey: ApiKey = {
  value: "no-key-in-a-replay",
  isExpired: () => false,
  renew: async () => {},
};

type Printed = { value: string; expiresAt: number | undefined };

async function runKeyCommand(argv: readonly string[], circumstances: Circumstances) {
  const { provider, env, writable, limitMs = 30_000, signal } = circumstances;
  const [name = "", ...args] = argv;
  const fail = (problem: string, said = "") => {
    const because = said === "" ? "" : `: ${said}`;
    return new KodaError(
      "credentials",
      `Cannot get the API key of the provider "${provider}": api_key_command "${name}" ${problem}${because}`,
    );
  };
  const home = isAbsolute(env.HOME ?? "") ? (env.HOME ?? "") : "/";
  const directories = (env.PATH ?? "").split(":").filter((path) => isAbsolute(path) && !isWritable(path, writable));
  const program = programAt(name.replace(/^~(?=\/)/, home), { home, directories, writable });
  if (program === undefined) throw fail("was not found, or cannot be executed");
  if (isWritable(program, writable))
    throw fail(`is "${program}", which the model's commands can change: name one outside the project`);

  // What it starts itself is not to be found there either.
  const own = { ...env, PATH: directories.join(":") };
  const { ended, stdout, stderr } = await run([program, ...args], { env: own, home, limitMs, signal, fail });
  const said = trimmed(stderr, secretsIn(stdout));
  if (ended === "late") throw fail(`did not finish within ${limitMs / 1000} s and was stopped`, said);
  if (ended !== 0) throw fail(typeof ended === "number" ? `exited with ${ended}` : `was ended by ${ended}`, said);
  const printed = keyIn(stdout.trim());
  if (printed === undefined)
    throw fail("did not print a key: expected one line without spaces, or JSON with api_key", said);
  return printed;
}

type Search = { home: string; directories: readonly string[]; writable: readonly string[] };

/**
 * A relative path means one below the home, where the program runs. By its name alone a program is looked for where
 * the model's commands cannot put one.
 */
function programAt(name: string, { home, directories, writable }: Search): string | undefined {
  if (name.includes("/")) return Bun.which(isAbsolute(name) ? name : join(home, name)) ?? undefined;
  const found = directories.map((directory) => Bun.which(join(directory, name)));
  return found.find((program) => program !== null && !isWritable(program, writable)) ?? undefined;
}

/** Through symlinks, whose own place counts as well. */
function isWritable(path: string, roots: readonly string[]): boolean {
  const real = unlessRefused(() => realpathSync(path)) ?? path;
  return [path, real].some((place) => roots.some((root) => isBelow(place, root)));
}

type Ended = number | string | "late";
type Conditions = {
  env: Environment;
  home: string;
  limitMs: number;
  signal: AbortSignal | undefined;
  fail: (problem: string) => KodaError;
};

/** The program runs in the user's home with the user's environment, and reads nothing of what koda is given. */
async function run(argv: string[], { env, home, limitMs, signal, fail }: Conditions) {
  const mark = newFamily();
  const child = spawn(argv, { env: { ...env, [markVariable]: mark }, home, fail });
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const done = Promise.all([child.exited, stdout.ended, stderr.ended]).then(([code]) => child.signalCode ?? code);
  const late = Promise.withResolvers<"late">();
  const stop = () => late.resolve("late");
  const timer = setTimeout(stop, limitMs);
  signal?.addEventListener("abort", stop);
  try {
    const ended: Ended = await Promise.race([done, late.promise]);
    if (ended === "late") {
      await takeDown(() => marked(mark).map(({ pid }) => pid));
      // Without a /proc to see marks in, it is still there.
      child.kill("SIGKILL");
    }
    signal?.throwIfAborted();
    return { ended, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

function spawn(argv: string[], { env, home, fail }: Pick<Conditions, "env" | "home" | "fail">) {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("BUN_")));
  try {
    return Bun.spawn(argv, { cwd: home, env: own, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  } catch (error) {
    throw fail(`did not start: ${messageOf(error)}`);
  }
}

/** The output so far is available at any time; more than a key and a complaint can need is dropped. */
function collect(stream: ReadableStream<Uint8Array>): { ended: Promise<void>; text: () => string } {
  const decoder = new TextDecoder();
  let text = "";
  const read = async () => {
    for await (const chunk of stream) if (text.length < mostCharacters) text += decoder.decode(chunk, { stream: true });
  };
  return { ended: read(), text: () => text };
}

const mostCharacters = 64 * 1024;

/** A line that is the key, or `{"api_key": "…", "expires_at": "2026-11-19T12:00:00Z"}`, with seconds since 1970 too. */
function keyIn(printed: string): Printed | undefined {
  const json = parseJson(printed);
  if (!isRecord(json)) {
    const line = typeof json === "string" ? json : printed;
    return isKey(line) ? { value: line, expiresAt: undefined } : undefined;
  }
  const value = stringIn(json, "api_key")?.trim() ?? "";
  return isKey(value) ? { value, expiresAt: timeIn(json.expires_at) } : undefined;
}

function isKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

function timeIn(written: unknown): number | undefined {
  const ms = typeof written === "number" ? written * 1000 : typeof written === "string" ? Date.parse(written) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** Whatever the program printed may be a key, whole or in parts. */
function secretsIn(stdout: string): string[] {
  return stdout.split(/[\s"',:{}]+/).filter((part) => part.length >= 4);
}
