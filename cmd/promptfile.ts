import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { unlessAborted } from "../lib/async/unlessaborted.ts";
import { errnoOf, KodaError, reasonOf } from "../lib/errors.ts";
import { type InputSource, openReader, readToEnd } from "./bytes.ts";

/** The content of a file, or of a named pipe such as `-f <(generate)`. */
export async function readNamedFile(path: string, source: InputSource, signal: AbortSignal): Promise<Uint8Array> {
  signal.throwIfAborted();
  const fail = (problem: string, cause?: unknown) =>
    new KodaError("usage", `Cannot read ${source.name}: ${problem}`, { cause });
  try {
    // Opening a named pipe waits for a writer.
    await using file = await unlessAborted(open(resolve(path)), signal);
    if ((await file.stat()).isDirectory()) throw fail("it is a directory");
    return await readToEnd(openReader(Bun.file(file.fd).stream(), signal), source, signal);
  } catch (error) {
    if (error instanceof KodaError || signal.aborted || errnoOf(error) === undefined) throw error;
    throw fail(reasonOf(error), error);
  }
}
