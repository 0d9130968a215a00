import { constants, fchmodSync, writeSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { errnoOf, KodaError, reasonOf } from "../lib/errors.ts";
import { type OutputPlace, outputPlaceOf } from "../lib/files/outputplace.ts";
import { HeldDirectory } from "../lib/files/held.ts";
import { putFile } from "../lib/files/save.ts";

/** A file that the user named for the result of a run. */
type OutputFile = {
  /**
   * Writes it atomically: a reader sees the whole of it or the old content. A pipe or a device is written
   * to, not replaced by a file.
   */
  write(content: string | Uint8Array, signal: AbortSignal): Promise<void>;
  /** After a failure, so that an old file does not look new. */
  remove(): Promise<void>;
};

type OutputName = { flag: `-${string}`; what: string };

/** Throws when the file could not be written, before the user pays for its content. */
export function openOutputFile(file: string, writable: readonly string[], { flag, what }: OutputName): OutputFile {
  const failed = (action: string, error: unknown) => writeError(action, `"${file}" (${flag})`, error);
  const place = placeOf();
  return {
    async write(content, signal) {
      try {
        await put(place, Buffer.from(content), signal);
      } catch (error) {
        throw failed(`write the ${what} to`, error);
      }
    },
    async remove() {
      try {
        await removeAt(place);
      } catch (error) {
        throw failed(`remove the old ${what}`, error);
      }
    },
  };

  function placeOf(): OutputPlace {
    try {
      return outputPlaceOf(file, writable);
    } catch (error) {
      throw failed(`write the ${what} to`, error);
    }
  }
}

async function put(place: OutputPlace, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  switch (place.kind) {
    case "file":
      return replace(place, bytes);
    case "descriptor":
      return append(place.fd, bytes);
    case "device":
      return await writeToDevice(place, bytes, signal);
    default:
      place satisfies never;
  }
}

async function removeAt(place: OutputPlace): Promise<void> {
  if (place.kind !== "file") return;
  using directory = HeldDirectory.open(dirname(place.path));
  await rm(directory.at(basename(place.path)), { force: true });
}

function replace({ path, mode }: { path: string; mode?: number }, bytes: Uint8Array): void {
  using directory = HeldDirectory.open(dirname(path));
  const target = { directory, name: basename(path) };
  if (mode === undefined) putFile(target, bytes, { mode: 0o666 });
  else putFile(target, bytes, { finish: (descriptor) => fchmodSync(descriptor, mode) });
}

function append(fd: number, bytes: Uint8Array): void {
  for (let sent = 0; sent < bytes.length;) sent += writeSync(fd, bytes, sent);
}

const pauseMs = 20;

/** Waits for a reader of a pipe without blocking, so that a signal or a time limit can end the wait. */
async function writeToDevice(
  { path, isPipe, isOwn }: Extract<OutputPlace, { kind: "device" }>,
  bytes: Uint8Array,
  signal: AbortSignal,
) {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants;
  // The links in /proc for koda's own descriptors are the system's: no command can change them.
  const flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | (isOwn ? 0 : O_NOFOLLOW);
  using directory = HeldDirectory.open(dirname(path));
  const handle = await untilReady(
    () => open(directory.at(basename(path)), flags),
    isPipe ? "ENXIO" : undefined,
    signal,
  );
  try {
    for (let sent = 0; sent < bytes.length;) {
      const rest = bytes.subarray(sent);
      sent += (await untilReady(() => handle.write(rest), "EAGAIN", signal)).bytesWritten;
    }
  } finally {
    await handle.close();
  }
}

async function untilReady<T>(attempt: () => Promise<T>, notYet: string | undefined, signal: AbortSignal): Promise<T> {
  while (true) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (notYet === undefined || errnoOf(error) !== notYet) throw error;
    }
    await Bun.sleep(pauseMs);
  }
}

function writeError(action: string, file: string, error: unknown): KodaError {
  if (error instanceof KodaError) return error;
  return new KodaError("output", `Cannot ${action} ${file}: ${reasonOf(error)}`, { cause: error });
}
