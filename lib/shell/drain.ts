import { release } from "../async/release.ts";
import type { Reader } from "../system/pipe.ts";

/** A stream that is read to its end. */
export type Drain = {
  /** Settles at the end of the stream. */
  readonly done: Promise<void>;
  /** Stops reading, even when a process still writes. */
  abandon(): Promise<void>;
};

/**
 * Takes a piece of output as it comes. The bytes are only lent: they are gone after the call. The next piece is read
 * when what it returns has settled.
 */
export type Take = (bytes: Uint8Array) => void | Promise<void>;

/** Hands everything on as it comes. */
export function drain(reader: Reader, take: Take): Drain {
  const done = pump(reader, take);
  return {
    done,
    async abandon() {
      await reader.cancel();
      await done;
    },
  };
}

/** The garbage of a talkative command is collected now and then: a few milliseconds for some megabytes. */
const shrinkEveryBytes = 40 * 1024 * 1024;

async function pump(reader: Reader, take: Take): Promise<void> {
  let sinceShrunk = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return;
    const taken = take(value);
    if (taken !== undefined) await taken;
    sinceShrunk += value.length;
    release(value);
    if (sinceShrunk < shrinkEveryBytes) continue;
    sinceShrunk = 0;
    Bun.shrink();
  }
}
