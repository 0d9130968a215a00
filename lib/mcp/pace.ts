import { setTimeout as sleep } from "node:timers/promises";

/**
 * Slows down the reading of a server that sends without a pause, until its pipe is full and it has to wait: the run
 * needs the processor and the memory that its messages cost. One that sends now and then is read at once.
 */
export function pace(): Rest {
  let credit = burstBytes;
  let last = performance.now();
  return (bytes) => {
    const now = performance.now();
    credit = Math.min(burstBytes, credit + (now - last) * bytesPerMs) - bytes;
    last = now;
    return credit < 0 ? sleep(-credit / bytesPerMs) : undefined;
  };
}

/** A promise where the next piece should wait. */
export type Rest = (bytes: number) => Promise<void> | undefined;

/** The work of one message beside its length, as so many bytes. */
export const messageBytes = 4_096;

const burstBytes = 2 ** 20;
const bytesPerMs = 8 * 2 ** 10;
