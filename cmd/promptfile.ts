import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { unlessAborted } from "../lib/async/unlessaborted.ts";
import { errnoOf, KodaError, messageOf } from "../lib/errors.ts";
import { type Intake, openReader, readToEnd } from "./bytes.ts";

const problems: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  EACCES: "permission denied",
  EISDIR: "it is a directory",
  ELOOP: "too many levels of symbolic links",
  ENXIO: "it is a socket, not a file",
};

/** The content of a file that the user named, of a named pipe too: `-f <(generate)`. Relative to the current directory. */
export async function readNamedFile(path: string, intake: Intake, signal: AbortSignal): Promise<Uint8Array> {
  signal.throwIfAborted();
  try {
    // A named pipe that nobody writes to is opened when somebody does, if ever.
    await using file = await unlessAborted(open(resolve(path)), signal);
    const stats = await file.stat();
    if (stats.isDirectory()) throw new KodaError("usage", `Cannot read ${intake.name}: ${problems.EISDIR}`);
    return await readToEnd(openReader(Bun.file(file.fd).stream(), signal), intake, signal);
  } catch (error) {
    const code = errnoOf(error);
    if (error instanceof KodaError || signal.aborted || code === undefined) throw error;
    throw new KodaError("usage", `Cannot read ${intake.name}: ${problems[code] ?? messageOf(error)}`, { cause: error });
  }
}
