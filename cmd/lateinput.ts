import { within } from "../lib/async/within.ts";
import { wholeCharacters } from "../lib/config/utf8.ts";
import type { Inbox } from "../lib/conversation/inbox.ts";
import { type ByteReader, cancel, tooLarge } from "./bytes.ts";
import { decodeInput } from "./decode.ts";
import { stdinBlock } from "./prompt.ts";
import { isSilent, type LateStdin, stdinError, stdinSource } from "./stdin.ts";

/** After a pause of this length, what has come is passed on. */
const pauseMs = 300;
/** A stream without a pause is passed on in parts. */
const longestPartMs = 3_000;

/** The time in which a byte that is in the pipe when the run is about to end has been read. */
const graceMs = 50;

type Progress = {
  /** The read that waits for the next part. */
  next: LateStdin["first"];
  /** Settles when the part that is being read has been passed on. */
  part: Promise<void>;
  /** The time until which the run waits for more. */
  latest: number;
};

/** Passes on stdin while the run goes on, each part as a block of its own. At first it waits a little for each. */
export function readLate(stdin: LateStdin, inbox: Inbox): void {
  const progress = { next: stdin.first, part: Promise.resolve(), latest: performance.now() + stdin.waitMs };
  void pump(stdin, progress, inbox);
  inbox.expect(async () => {
    const ms = Math.max(graceMs, progress.latest - performance.now());
    await within(ms, Promise.allSettled([progress.next]));
    await progress.part;
  });
}

async function pump({ reader, signal }: LateStdin, progress: Progress, inbox: Inbox): Promise<void> {
  let part = Promise.withResolvers<void>();
  let room = stdinSource.limit;
  let cut: Uint8Array = new Uint8Array();
  try {
    for (; !(await progress.next).done; part.resolve()) {
      part = Promise.withResolvers();
      progress.part = part.promise;
      const { bytes: read, next } = await readPart(reader, progress.next, room);
      signal.throwIfAborted();
      room -= read.length;
      if (room < 0) throw tooLarge(stdinSource);
      const bytes = Buffer.concat([cut, read]);
      const whole = wholeCharacters(bytes);
      cut = bytes.subarray(whole.length);
      if (whole.length > 0) inbox.add([{ type: "text", text: stdinBlock(decodeInput(whole, stdinSource.name)) }]);
      progress.next = next;
    }
    decodeInput(cut, stdinSource.name);
  } catch (error) {
    inbox.fail(stdinError(error));
    cancel(reader);
  } finally {
    part.resolve();
  }
}

/** Everything up to the next pause or the end, and the read that goes on from there. */
async function readPart(reader: ByteReader, first: LateStdin["first"], room: number) {
  const pieces: Uint8Array[] = [];
  const latest = performance.now() + longestPartMs;
  let length = 0;
  let next = first;
  for (let piece = await next; !piece.done; piece = await next) {
    pieces.push(piece.value);
    length += piece.value.length;
    next = reader.read();
    if (length > room || performance.now() > latest || (await isSilent(next, pauseMs))) break;
  }
  return { bytes: Buffer.concat(pieces), next };
}
