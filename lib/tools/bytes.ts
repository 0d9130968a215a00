import { read } from "node:fs";
import type { OpenFile } from "../files/held.ts";

/** Larger files are never in memory as a whole: they are read in passing and edited with other means. */
export const maxWholeBytes = 16 * 1024 * 1024;

const chunkBytes = 1024 * 1024;

/**
 * The bytes from a position on, as many as one read gives; empty at the end. Never blocks the process. They come in
 * the buffer of an earlier chunk when one is given.
 */
export function readChunk(file: OpenFile, position: number, reused?: Uint8Array): Promise<Uint8Array> {
  const buffer = reused === undefined ? makeBuffer(file, position) : new Uint8Array(reused.buffer);
  return new Promise((resolve, reject) =>
    read(file.descriptor, buffer, 0, buffer.length, position, (error, count) =>
      error === null ? resolve(buffer.subarray(0, count)) : reject(error),
    ),
  );
}

function makeBuffer({ stats }: OpenFile, position: number): Uint8Array {
  // The size is only a hint: files of /proc say 0, and a log grows while it is read.
  const expected = Number(stats.size) - position + 1;
  return new Uint8Array(Math.min(chunkBytes, Math.max(expected, 4096)));
}

/** All of a file, or undefined when it is larger than that. */
export async function readWhole(file: OpenFile, maxBytes: number): Promise<Uint8Array | undefined> {
  if (file.stats.size > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length <= maxBytes) {
    const chunk = await readChunk(file, length);
    if (chunk.length === 0) return Buffer.concat(chunks);
    chunks.push(chunk);
    length += chunk.length;
  }
  return undefined;
}
