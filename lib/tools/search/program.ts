import { ProgramFile } from "../../sandbox/program/programfile.ts";
import { ripgrepFile } from "./built.ts";

/** It belongs to the process, not to a conversation: the same bytes for everyone, made when first needed. */
let made: Promise<ProgramFile | undefined> | undefined;

/**
 * The ripgrep that this koda was built with; one on the PATH is not asked, since its version and so its results are
 * anybody's guess. Undefined when there is none for this platform. Throws Unavailable where no program can be kept;
 * `directory`, which commands can read, is used where none can be kept in memory.
 */
export async function ripgrepProgram(directory?: string): Promise<ProgramFile | undefined> {
  made ??= make(directory);
  return await made;
}

async function make(directory: string | undefined): Promise<ProgramFile | undefined> {
  if (ripgrepFile === undefined) return undefined;
  const bytes = new Uint8Array(await Bun.file(ripgrepFile).arrayBuffer());
  return new ProgramFile(bytes, { name: "rg", ...(directory !== undefined && { directory }) });
}
