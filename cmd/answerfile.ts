import { constants, fchmodSync, type Stats, writeSync } from "node:fs";
import { access, open, rm, stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { errnoOf, KodaError, reasonOf } from "../lib/errors.ts";
import { HeldDirectory } from "../lib/files/held.ts";
import { putFile } from "../lib/files/save.ts";
import { lookUp, followPath } from "../lib/files/walk.ts";

/** The file of `-o`. */
type AnswerFile = {
  /**
   * Writes the final answer atomically: a reader sees the whole of it or the old content. A pipe or a device is written
   * to, not replaced by a file.
   */
  write(text: string, signal: AbortSignal): Promise<void>;
  /** After a failure, so that an old answer does not look new. */
  remove(): Promise<void>;
};

/**
 * Resolves the path before the first command: koda may write where commands may not, so it must not follow a symlink
 * that one of them creates. Throws when the answer could not be written, before the user pays for it.
 */
export async function openAnswerFile(file: string): Promise<AnswerFile> {
  const place = await placeOf(file).catch((error: unknown) => {
    throw writeError("write the answer to", file, error);
  });
  return {
    async write(text, signal) {
      try {
        await put(place, Buffer.from(text), signal);
      } catch (error) {
        throw writeError("write the answer to", file, error);
      }
    },
    async remove() {
      try {
        await removeAt(place);
      } catch (error) {
        throw writeError("remove the old answer", file, error);
      }
    },
  };
}

type Place =
  /** A path without symlinks. */
  | { kind: "file"; path: string; mode?: number }
  /** A file that koda was given open, as in `-o /dev/stdout >log`: it must not be replaced. */
  | { kind: "descriptor"; fd: number }
  | { kind: "device"; path: string; isPipe: boolean };

/** A symlink is followed, not replaced, even when its target does not exist yet. */
async function placeOf(file: string): Promise<Place> {
  // A pipe behind /dev/stderr has no path, so its descriptor is not followed any further.
  const isOwn = (path: string) => ownDescriptor.test(path);
  const { real, fault } = followPath(resolve(file), {
    follow: true,
    look: (path) => (isOwn(path) ? { kind: "device" } : lookUp(path)),
  });
  if (fault !== undefined) throw new Error(fault);
  const stats = await statOf(real);
  if (stats?.isDirectory() || (stats === undefined && file.endsWith("/"))) throw new Error("it is a directory");
  if (stats?.isSocket()) throw new Error("it is a socket");

  const fd = ownDescriptor.exec(real)?.[1];
  if (fd !== undefined && stats === undefined) throw new Error(`file descriptor ${fd} is not open`);
  if (stats !== undefined && !stats.isFile()) {
    await access(real, constants.W_OK);
    return { kind: "device", path: real, isPipe: stats.isFIFO() };
  }
  if (fd !== undefined) return { kind: "descriptor", fd: Number(fd) };
  await checkDirectory(dirname(real));
  return { kind: "file", path: real, ...(stats && { mode: stats.mode & 0o777 }) };
}

/** The file is replaced, so its directory must be writable. */
async function checkDirectory(path: string): Promise<void> {
  try {
    await access(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") throw new Error(`no such directory "${path}"`, { cause: error });
    throw error;
  }
}

const ownDescriptor = new RegExp(`^/(?:dev|proc/${process.pid}(?:/task/\\d+)?)/fd/(\\d+)$`);

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function put(place: Place, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
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

async function removeAt(place: Place): Promise<void> {
  if (place.kind !== "file") return;
  using directory = HeldDirectory.open(dirname(place.path));
  await rm(directory.at(basename(place.path)), { force: true });
}

/** Keeps the permissions of the file. */
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
  { path, isPipe }: { path: string; isPipe: boolean },
  bytes: Uint8Array,
  signal: AbortSignal,
) {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants;
  // The links in /proc for koda's own descriptors are the system's: no command can change them.
  const flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | (ownDescriptor.test(path) ? 0 : O_NOFOLLOW);
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
  return new KodaError("output", `Cannot ${action} "${file}" (-o): ${reasonOf(error)}`, { cause: error });
}
