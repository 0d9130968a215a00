import { constants, fchmodSync, type Stats, writeSync } from "node:fs";
import { access, open, rm, stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { errnoOf, KodaError, reasonOf } from "../lib/errors.ts";
import { HeldDirectory } from "../lib/files/held.ts";
import { putFile } from "../lib/files/save.ts";
import { look, walk } from "../lib/files/walk.ts";

/** Where the answer goes (`-o`). */
export type AnswerFile = {
  /**
   * Writes the final answer in one step: whoever reads the file sees the whole of it or what was there before. What is
   * no file (a pipe, /dev/null) is written to; putting a file in its place would take it away from everyone.
   */
  write(text: string, signal: AbortSignal): Promise<void>;
  /** After a failure no file is better than an old answer that looks new. */
  remove(): Promise<void>;
};

/**
 * Settles where the name leads, which has to happen before the first command: koda writes with rights that commands do
 * not have, so a symlink that one of them puts in the way is not followed. Throws when nothing can be written there, so
 * that no model is paid for an answer that would be lost.
 */
export async function settleAnswer(file: string): Promise<AnswerFile> {
  const place = await placeOf(file).catch((error: unknown) => {
    throw cannot("write the answer to", file, error);
  });
  return {
    async write(text, signal) {
      try {
        await put(place, Buffer.from(text), signal);
      } catch (error) {
        throw cannot("write the answer to", file, error);
      }
    },
    async remove() {
      try {
        await removeAt(place);
      } catch (error) {
        throw cannot("remove the old answer", file, error);
      }
    },
  };
}

type Place =
  /** The path has no symlink in it. */
  | { kind: "file"; path: string; mode?: number }
  /** A file that this process was given open, as in `-o /dev/stdout >log`: the log is not koda's to replace. */
  | { kind: "descriptor"; fd: number }
  | { kind: "device"; path: string; isPipe: boolean };

/** A link stays a link, also one that leads to nothing yet. */
async function placeOf(file: string): Promise<Place> {
  // A pipe behind /dev/stderr has no path of its own, and what comes after its descriptor is no path.
  const isOwn = (path: string) => ownDescriptor.test(path);
  const { real, fault } = walk(resolve(file), {
    follow: true,
    look: (path) => (isOwn(path) ? { kind: "device" } : look(path)),
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

/** The file is replaced, so its directory is what has to be writable. */
async function checkDirectory(path: string): Promise<void> {
  try {
    await access(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") throw new Error(`there is no directory "${path}"`, { cause: error });
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
      return await feed(place, bytes, signal);
    default:
      place satisfies never;
  }
}

async function removeAt(place: Place): Promise<void> {
  if (place.kind !== "file") return;
  using directory = HeldDirectory.open(dirname(place.path));
  await rm(directory.at(basename(place.path)), { force: true });
}

/** Who may read the answer does not change with it. */
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

/** Without blocking: a pipe that nobody opens or reads is waited for, but a signal or a time limit ends that. */
async function feed({ path, isPipe }: { path: string; isPipe: boolean }, bytes: Uint8Array, signal: AbortSignal) {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants;
  // Of koda's own descriptors the system makes up a link, which no command can change.
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

function cannot(what: string, file: string, error: unknown): KodaError {
  if (error instanceof KodaError) return error;
  return new KodaError("output", `Cannot ${what} "${file}" (-o): ${reasonOf(error)}`, { cause: error });
}
