import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { release } from "../../async/release.ts";

export type Course = {
  from: Readable;
  to: Writable;
  /** The connection below `to`. */
  sink: Socket;
  /** What is held back while no more is taken; `from` where nothing else is said. */
  brake?: { pause(): unknown; resume(): unknown };
};

/** Passes on what comes, at the pace at which it is taken, up to its end; what was written is given back at once. */
export function pour({ from, to, sink, brake = from }: Course): void {
  from.on("data", (chunk: Buffer) => {
    // Who has gone takes no more.
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
