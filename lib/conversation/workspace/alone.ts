import { closeSync, openSync, readdirSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseJson } from "../../config/json.ts";
import { KodaError, unlessRefused } from "../../errors.ts";
import { tryLock } from "../../system/descriptors.ts";
import { isAbandoned, overlap } from "./knownrecord.ts";

const prefix = "koda-alone-";

const longestWaitMs = 60_000;

/**
 * Waits until no other run has commands below the same writable roots, and keeps others waiting until it is disposed:
 * where no mount holds what is protected, a run that remembers it while another's command changes it would restore
 * that change.
 */
export async function waitToBeAlone(
  directory: string,
  roots: readonly string[],
  signal: AbortSignal,
  { patienceMs = longestWaitMs } = {},
): Promise<Disposable> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    signal.throwIfAborted();
    const alone = tryAlone(directory, roots);
    if (alone !== undefined) return alone;
    if (performance.now() > deadline) throw new KodaError("busy", told(roots[0]), { retryable: true });
    await sleep(20 + 60 * Math.random(), undefined, { signal }).catch(() => undefined);
  }
}

/** Says first that it is at work, and looks then: of two at a time at least one sees the other. */
function tryAlone(directory: string, roots: readonly string[]): Disposable | undefined {
  const path = join(directory, `${prefix}${crypto.randomUUID()}`);
  const file = openSync(path, "wx", 0o600);
  const alone = {
    [Symbol.dispose]() {
      unlessRefused(() => unlinkSync(path));
      closeSync(file);
    },
  };
  // Until it is locked it says nothing, or another run would take it for a killed run's.
  const isLocked = tryLock(file, "alone");
  writeSync(file, JSON.stringify(roots));
  if (isLocked && !areOthers(directory, roots, path)) return alone;
  alone[Symbol.dispose]();
  return undefined;
}

function areOthers(directory: string, roots: readonly string[], own: string): boolean {
  const others = readdirSync(directory).filter((name) => name.startsWith(prefix));
  return others.map((name) => join(directory, name)).some((path) => path !== own && isOthers(path, roots));
}

/** The file of a killed run says nothing any more. */
function isOthers(path: string, roots: readonly string[]): boolean {
  const written = unlessRefused(() => parseJson(readFileSync(path, "utf8")));
  if (!Array.isArray(written)) return false;
  if (!isAbandoned(path)) return written.some((root) => roots.some((own) => overlap(String(root), own)));
  unlessRefused(() => unlinkSync(path));
  return false;
}

function told(root = "/"): string {
  return `Another koda run is running commands in "${root}", and this sandbox can protect git's files from only one run at a time. Try again later, or give each run its own work tree.`;
}
