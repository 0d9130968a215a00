import { closeSync } from "node:fs";

/** A command writes to it and koda reads. */
export type Pipe = { read: number; write: number };

export type Reader = {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
};

/** For when the command has been started: its end is closed here, so that the reading ends with the command. */
export function readerOf({ read, write }: Pipe): Reader {
  closeSync(write);
  const reader = Bun.file(read).stream().getReader();
  // The reader has a duplicate of its own by now.
  closeSync(read);
  return reader;
}

/** For a command that could not be started. */
export function closePipe(pipe: Pipe | undefined): void {
  if (pipe === undefined) return;
  closeSync(pipe.read);
  closeSync(pipe.write);
}
