import { closeSync } from "node:fs";
import { libc } from "./libc.ts";

/** Both ends of a pipe: one of them is for a command. */
export type Pipe = { read: number; write: number };

export type Reader = {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
};

const O_CLOEXEC = 0o2000000;
const F_SETPIPE_SZ = 1031;

/** A real pipe that no other program inherits, of the usual size or another; undefined without the C library. */
export function openPipe({ bytes }: { bytes?: number } = {}): Pipe | undefined {
  const ends = new Int32Array(2);
  if (libc()?.pipe2(ends, O_CLOEXEC) !== 0) return undefined;
  const [read = -1, write = -1] = ends;
  // Refused when the user's share of pipe memory is used up, which costs speed and nothing else.
  if (bytes !== undefined) libc()?.fcntl(write, F_SETPIPE_SZ, bytes);
  return { read, write };
}

/** For a command that has been started: its end is closed here, so that the reading ends with the command. */
export function readerOf(pipe: Pipe): Reader {
  const reader = Bun.file(pipe.read).stream().getReader();
  // The reader has a duplicate of its own by now.
  closePipe(pipe);
  return reader;
}

/** For a command that has been started and reads from it. Nothing is held back for later writes. */
export function writerOf(pipe: Pipe): Bun.FileSink {
  const writer = Bun.file(pipe.write).writer({ highWaterMark: 1 });
  closePipe(pipe);
  return writer;
}

export function closePipe(pipe: Pipe | undefined): void {
  if (pipe === undefined) return;
  closeSync(pipe.read);
  closeSync(pipe.write);
}
