import type { ReadableStreamDefaultReader } from "node:stream/web";
import { KodaError } from "../lib/errors.ts";

export type ByteReader = ReadableStreamDefaultReader<Uint8Array>;

/** An input: its name in messages, and the most bytes that are accepted. */
export type InputSource = { readonly name: string; readonly limit: number; readonly limitName: string };

/** The signal cancels the reader; a pending read then returns `done`. */
export function openReader(stream: ReadableStream<Uint8Array>, signal: AbortSignal): ByteReader {
  const reader = stream.getReader();
  signal.addEventListener("abort", () => cancel(reader), { once: true });
  return reader;
}

/** Reads to the end, but never much more than the limit. `first` is a read that has already started. */
export async function readToEnd(
  reader: ByteReader,
  source: InputSource,
  signal: AbortSignal,
  first = reader.read(),
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let next = await first; ; next = await reader.read()) {
    // After an abort, `done` is not the end of the input.
    signal.throwIfAborted();
    if (next.done) return Buffer.concat(pieces);
    pieces.push(next.value);
    length += next.value.length;
    if (length <= source.limit) continue;
    cancel(reader);
    throw tooLarge(source);
  }
}

export function tooLarge({ name, limitName }: InputSource): KodaError {
  return new KodaError("usage", `Cannot read ${name}: it is larger than ${limitName}`);
}

export function cancel(reader: ByteReader): void {
  // A failed stream rejects here again, but its reader has seen the error.
  reader.cancel().catch(() => undefined);
}
