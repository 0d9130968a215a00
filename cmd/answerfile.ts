import { constants, type Stats, writeSync } from "node:fs";
import { open, readlink, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { errnoOf, KodaError, reasonOf } from "../lib/errors.ts";

/**
 * Writes the final answer in one step: whoever reads the file sees the whole of it or what was there before. What is
 * no file (a pipe, /dev/null) is written to; putting a file in its place would take it away from everyone.
 */
export async function writeAnswer(file: string, text: string, signal: AbortSignal): Promise<void> {
  try {
    const place = await placeOf(file);
    switch (place.kind) {
      case "file":
        return await replace(place, text);
      case "descriptor":
        return append(place.fd, Buffer.from(text));
      case "device":
        return await feed(place, Buffer.from(text), signal);
      default:
        place satisfies never;
    }
  } catch (error) {
    throw cannot("write the answer to", file, error);
  }
}

/** After a failure no file is better than an old answer that looks new. */
export async function removeAnswer(file: string): Promise<void> {
  try {
    const place = await placeOf(file);
    if (place.kind === "file") await rm(place.path, { force: true });
  } catch (error) {
    throw cannot("remove the old answer", file, error);
  }
}

type Place =
  | { kind: "file"; path: string; mode?: number }
  /** A file that this process was given open, as in `-o /dev/stdout >log`: the log is not koda's to replace. */
  | { kind: "descriptor"; fd: number }
  | { kind: "device"; path: string; isPipe: boolean };

/** Where the name leads; a link stays a link, also one that leads to nothing yet. */
async function placeOf(file: string): Promise<Place> {
  const { path, fd } = await follow(resolve(file));
  const stats = await statOf(path);
  if (stats !== undefined && !stats.isFile()) return { kind: "device", path, isPipe: stats.isFIFO() };
  if (fd !== undefined) return { kind: "descriptor", fd };
  if (stats === undefined) return { kind: "file", path };
  return { kind: "file", path: await realpath(path), mode: stats.mode & 0o777 };
}

const ownDescriptor = /^\/(?:dev|proc\/(?:self|thread-self))\/fd\/(\d+)$/;
/** As many as the system itself follows. */
const mostLinks = 40;

/** Link by link: a pipe behind /dev/stderr has no path of its own, and what comes after its descriptor is no path. */
async function follow(path: string): Promise<{ path: string; fd?: number }> {
  let at = path;
  for (let links = 0; links < mostLinks; links++) {
    const fd = ownDescriptor.exec(at)?.[1];
    if (fd !== undefined) return { path: at, fd: Number(fd) };
    const target = await linkTarget(at);
    if (target === undefined) return { path: at };
    at = resolve(dirname(at), target);
  }
  return { path };
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    // No link, or nothing there; everything else the next step says better.
    if (errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Who may read the answer does not change with it. */
async function replace({ path, mode }: { path: string; mode?: number }, text: string): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  try {
    await writeFile(draft, text, { flag: "wx", ...(mode !== undefined && { mode }) });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

function append(fd: number, bytes: Buffer): void {
  for (let sent = 0; sent < bytes.length;) sent += writeSync(fd, bytes, sent);
}

const pauseMs = 20;

/** Without blocking: a pipe that nobody opens or reads is waited for, but a signal or a time limit ends that. */
async function feed({ path, isPipe }: { path: string; isPipe: boolean }, bytes: Buffer, signal: AbortSignal) {
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const handle = await untilReady(() => open(path, flags), isPipe ? "ENXIO" : undefined, signal);
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
