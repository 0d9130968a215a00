import { type Stats } from "node:fs";
import { realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { errnoOf, KodaError, messageOf } from "../lib/errors.ts";

/**
 * Writes the final answer in one step: whoever reads the file sees the whole of it or what was there before. What is
 * no file (a pipe, /dev/null) is written to; putting a file in its place would take it away from everyone.
 */
export async function writeAnswer(file: string, text: string): Promise<void> {
  try {
    const { path, stats } = await place(file);
    if (stats === undefined || stats.isFile()) await replace(path, text);
    else await writeFile(path, text);
  } catch (error) {
    throw cannot("write the answer to", file, error);
  }
}

/** After a failure no file is better than an old answer that looks new. */
export async function removeAnswer(file: string): Promise<void> {
  try {
    const { path, stats } = await place(file);
    if (stats?.isFile()) await rm(path, { force: true });
  } catch (error) {
    throw cannot("remove the old answer", file, error);
  }
}

async function replace(path: string, text: string): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  try {
    await writeFile(draft, text, { flag: "wx" });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Where the name leads; a link stays a link. What it leads to is asked first: a pipe behind /dev/stderr has no path of
 * its own, and to look for one would be to find nothing there, and to put a file in the place of the link.
 */
async function place(file: string): Promise<{ path: string; stats: Stats | undefined }> {
  const path = resolve(file);
  try {
    const stats = await stat(path);
    return { path: stats.isFile() ? await realpath(path) : path, stats };
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return { path, stats: undefined };
    throw error;
  }
}

function cannot(what: string, file: string, error: unknown): KodaError {
  return new KodaError("output", `Cannot ${what} "${file}" (-o): ${errnoOf(error) ?? messageOf(error)}`, {
    cause: error,
  });
}
