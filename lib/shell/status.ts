import { constants } from "node:os";
import { type Pipe, type Reader, readerOf } from "../system/pipe.ts";

/** `exitCode` is 128 + the signal's number when a signal ended it, as shells have it. */
export type ExitStatus = { exitCode: number; signal?: string };

export function statusOf({ exitCode, signalCode }: Bun.Subprocess): ExitStatus {
  if (signalCode === null) return { exitCode: exitCode ?? 128 + constants.signals.SIGKILL };
  // A real-time signal has a number only.
  if (typeof signalCode === "number") return endedBy(signalCode);
  return endedBy(constants.signals[signalCode]);
}

/** The report of a command that outlives its end: its status, undefined when it ends without, and when all is gone. */
export type StatusReport = { status: Promise<ExitStatus | undefined>; gone: Promise<void> };

/** Reads the report of a command that has just been started. */
export function readStatus(pipe: Pipe): StatusReport {
  const reader = readerOf(pipe);
  const first = reader.read();
  return {
    status: first.then(({ value }) => {
      if (value === undefined || value.length < 4) return undefined;
      return decode(new DataView(value.buffer, value.byteOffset, value.length).getInt32(0, true));
    }),
    gone: ended(first, reader),
  };
}

async function ended(first: ReturnType<Reader["read"]>, reader: Reader): Promise<void> {
  const { done } = await first;
  if (!done) await reader.read();
  await reader.cancel();
}

/** The seven lowest bits are the signal; without one the second byte is the exit code. */
function decode(status: number): ExitStatus {
  const signal = status & 0x7f;
  return signal === 0 ? { exitCode: (status >> 8) & 0xff } : endedBy(signal);
}

function endedBy(number: number): ExitStatus {
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  return { exitCode: 128 + number, signal: name ?? `signal ${number}` };
}
