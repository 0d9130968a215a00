import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { release } from "../../async/release.ts";

type Pouring = {
  from: Readable;
  to: Writable;
  /** The connection below `to`. */
  sink: Socket;
  /** The stream to pause while `to` takes no more; `from` when absent. */
  brake?: { pause(): unknown; resume(): unknown };
};

/** Passes bytes on at the pace at which they are taken, up to the end, and frees their memory once they are written. */
export function pour({ from, to, sink, brake = from }: Pouring): void {
  from.on("data", (chunk: Buffer) => {
    if (to.destroyed) return;
    const takesMore = to.write(chunk, () => {
      // Bun's answers to HTTP call back while a chunk still waits for its turn. When none waits, none is in use.
      if (sink.writableLength === 0) release(chunk);
    });
    if (!takesMore) brake.pause();
  });
  to.on("drain", () => brake.resume());
  from.once("end", () => to.end());
  brake.resume();
}
