import type { ReadableStreamDefaultReader } from "node:stream/web";
import { KodaError } from "../lib/errors.ts";

export type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** What a message calls the source, and how much of it is accepted. */
export type Intake = { readonly name: string; readonly limit: number; readonly limitName: string };

/** The signal ends the waiting: a read that is under way then says `done`. */
export function openReader(stream: ReadableStream<Uint8Array>, signal: AbortSignal): Reader {
  const reader = stream.getReader();
  signal.addEventListener("abort", () => cancel(reader), { once: true });
  return reader;
}

/** Everything up to the end, never holding much more than the limit. `first` is a read that is under way already. */
export async function readToEnd(
  reader: Reader,
  intake: Intake,
  signal: AbortSignal,
  first = reader.read(),
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let next = await first; ; next = await reader.read()) {
    // `done` is not the end when it is the signal's.
    signal.throwIfAborted();
    if (next.done) return Buffer.concat(pieces);
    pieces.push(next.value);
    length += next.value.length;
    if (length <= intake.limit) continue;
    cancel(reader);
    throw tooLarge(intake);
  }
}

export function tooLarge({ name, limitName }: Intake): KodaError {
  return new KodaError("usage", `Cannot read ${name}: it is larger than ${limitName}`);
}

export function cancel(reader: Reader): void {
  // A stream that has failed says so here once more; whoever read from it was told.
  reader.cancel().catch(() => undefined);
}
