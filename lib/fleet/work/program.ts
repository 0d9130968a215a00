import { closeSync } from "node:fs";
import { unlessAborted } from "../../async/unlessaborted.ts";
import { within } from "../../async/within.ts";
import { isGroupAlive, terminate } from "../../system/kill.ts";
import { parentVariable } from "../../system/orphan.ts";
import { openPipe } from "../../system/pipe.ts";

type ProgramRun = {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  limitMs: number;
  signal: AbortSignal;
};

/** `status` is an exit code, the name of a signal, or "timeout". */
export type ProgramEnd = { status: number | string; stdout: string; stderr: string };

/**
 * Ends the whole group when the other end of descriptor 3 is closed, which the kernel does when koda is killed: a fetch
 * would otherwise go on for as long as the server lets it.
 */
const guard = `(read -r _ <&3; kill -KILL 0) </dev/null >/dev/null 2>&1 & exec 3<&-; "$@"; status=$?; kill $!; exit $status`;

/** After the end of a program, for what it has written; a program that it left behind may hold its streams. */
const readMs = 1000;

/** Runs a program of the user's to its end, in a group of its own and without a terminal, and leaves nothing of it. */
export async function runProgram(argv: readonly string[], run: ProgramRun): Promise<ProgramEnd> {
  const { cwd, env, limitMs, signal } = run;
  signal.throwIfAborted();
  const pipe = openPipe();
  try {
    const child = Bun.spawn(pipe === undefined ? [...argv] : ["/bin/sh", "-c", guard, "sh", ...argv], {
      cwd,
      env: withoutRuntime(env),
      detached: true,
      stdio: pipe === undefined ? ["ignore", "pipe", "pipe"] : ["ignore", "pipe", "pipe", pipe.read],
    });
    const texts = [child.stdout, child.stderr].map((stream) => tailOf(stream));
    const stop = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
    const isStopped = await unlessAborted(child.exited, stop).then(
      () => false,
      () => true,
    );
    if (isStopped) await terminate(() => (isGroupAlive(child.pid) ? [-child.pid] : []));
    signal.throwIfAborted();
    const [stdout = "", stderr = ""] = await Promise.all(
      texts.map(({ text, ended }) => within(readMs, ended).then(text)),
    );
    return { status: isStopped ? "timeout" : (child.signalCode ?? child.exitCode ?? -1), stdout, stderr };
  } finally {
    for (const end of [pipe?.read, pipe?.write]) if (end !== undefined) closeSync(end);
  }
}

/** For a koda of the worker's: it ends with this process. The store's address may have a password. */
export function kodaEnvironment(env: ProgramRun["env"]): Record<string, string | undefined> {
  return { ...withoutRuntime(env), KODA_STORE: undefined, [parentVariable]: String(process.pid) };
}

/** They would change what a koda does that such a program starts. */
function withoutRuntime(env: ProgramRun["env"]): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("BUN_")));
}

const mostCharacters = 64 * 1024;

/** The end of a stream, for what is printed last. */
export function tailOf(stream: ReadableStream<Uint8Array>): { ended: Promise<void>; text: () => string } {
  const decoder = new TextDecoder();
  let text = "";
  const read = async () => {
    for await (const chunk of stream) text = (text + decoder.decode(chunk, { stream: true })).slice(-mostCharacters);
  };
  return { ended: read(), text: () => text };
}
