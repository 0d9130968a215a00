import type { IncomingMessage } from "node:http";
import { pipeline, type Transform } from "node:stream";
import { counted } from "../../counted.ts";
import { listed } from "../../egress/proxy/headers.ts";
import { FetchFailure } from "./failure.ts";

/** `cut` says why not all of it is there. */
export type Body = { bytes: Buffer; cut: string | undefined };

type Reading = { limit: number; signal: AbortSignal; whyLate: string };

/**
 * A reply's body, unpacked, and never more of it than the limit, packed or not. What has come counts, also when the
 * rest does not: a page that never ends has a beginning.
 */
export async function readBody(reply: IncomingMessage, { limit, signal, whyLate }: Reading): Promise<Body> {
  const unpack = await unpackerFor(listed(reply.headers["content-encoding"]));
  let cut: string | undefined;
  const cutOff = (why: string) => (cut ??= why);
  const packed = arriving(reply, { limit, signal, whyLate, cutOff });
  const giveUp = () => reply.destroy(new Error(whyLate));
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    const plain: AsyncIterable<Buffer> = unpack === undefined ? packed : pipeline(packed, unpack, ended);
    const { bytes, isCut } = await beginningOf(plain, limit);
    if (isCut) cutOff(tooLong(limit));
    return { bytes, cut };
  } catch (cause) {
    // Reading from the connection does not throw: what does is the unpacking.
    throw new FetchFailure("its body is not packed as its head says", { cause });
  } finally {
    signal.removeEventListener("abort", giveUp);
    reply.destroy();
  }
}

/** Undefined where nothing is packed. Half of a packing is unpacked as far as it goes. */
async function unpackerFor(codings: readonly string[]): Promise<Transform | undefined> {
  const [coding = "identity", ...more] = codings;
  if (more.length > 0) throw new FetchFailure(`its body is packed more than once (${codings.join(", ")})`);
  if (coding === "identity") return undefined;
  const { constants, createBrotliDecompress, createGunzip, createInflate } = await import("node:zlib");
  switch (coding) {
    case "gzip":
    case "x-gzip":
      return createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
    case "br":
      return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
    case "deflate":
      return createInflate({ finishFlush: constants.Z_SYNC_FLUSH });
    default:
      throw new FetchFailure(`its body has an unsupported Content-Encoding (${JSON.stringify(coding)})`);
  }
}

type Arrival = Reading & { cutOff: (why: string) => void };

/** The packed bytes. They are limited as well: some packings can go on without end and hold nothing. */
async function* arriving(
  reply: IncomingMessage,
  { limit, signal, whyLate, cutOff }: Arrival,
): AsyncGenerator<Buffer, void> {
  let length = 0;
  try {
    for await (const chunk of reply) {
      const bytes: Buffer = chunk;
      length += bytes.length;
      yield bytes;
      if (length > limit) return cutOff(tooLong(limit));
    }
  } catch {
    cutOff(signal.aborted ? whyLate : "the connection closed before its end");
  }
}

async function beginningOf(chunks: AsyncIterable<Buffer>, limit: number): Promise<{ bytes: Buffer; isCut: boolean }> {
  const kept: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    kept.push(chunk.subarray(0, limit - length));
    length += chunk.length;
    if (length > limit) break;
  }
  return { bytes: Buffer.concat(kept), isCut: length > limit };
}

/** An error is thrown by the reading. */
function ended(): void {}

function tooLong(limit: number): string {
  return `only the first ${counted(limit, "byte")} were read`;
}
