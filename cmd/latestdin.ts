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

/** Passes on stdin while the run goes on, each part as a block of its own. Waits a little for the first byte. */
export function readLate(stdin: LateStdin, inbox: Inbox): void {
  // Begun first, so that a part is expected before the wait for its first byte is over.
  void pump(stdin, inbox);
  inbox.expect(within(stdin.waitMs, Promise.allSettled([stdin.first])));
}

async function pump({ reader, first, signal }: LateStdin, inbox: Inbox): Promise<void> {
  let part = Promise.withResolvers<void>();
  let room = stdinSource.limit;
  let cut: Uint8Array = new Uint8Array();
  try {
    for (let next = first; !(await next).done; part.resolve()) {
      part = Promise.withResolvers();
      inbox.expect(part.promise);
      const read = await readPart(reader, next, room);
      signal.throwIfAborted();
      room -= read.bytes.length;
      if (room < 0) throw tooLarge(stdinSource);
      const bytes = Buffer.concat([cut, read.bytes]);
      const whole = wholeCharacters(bytes);
      cut = bytes.subarray(whole.length);
      if (whole.length > 0) inbox.add([{ type: "text", text: stdinBlock(decodeInput(whole, stdinSource.name)) }]);
      ({ next } = read);
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
