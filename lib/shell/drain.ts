import { closeSync } from "node:fs";
import { release } from "../async/release.ts";
import { openPipe, type Pipe } from "./libc.ts";

/**
 * The way out of a command for one stream. It is a real pipe where there is one to be had, because what Bun calls a
 * pipe is a socket, and a socket cannot be opened by name: `echo x > /dev/stderr` fails on it.
 */
export type Outlet = { stdio: number | "pipe"; pipe: Pipe | undefined };

/** A stream being read to its end. */
export type Drain = {
  done: Promise<void>;
  /** Stops reading, whoever may still write. */
  abandon(): Promise<void>;
};

export function openOutlet(): Outlet {
  const pipe = openPipe();
  return { stdio: pipe?.write ?? "pipe", pipe };
}

/** For a command that could not be started. */
export function closeOutlet({ pipe }: Outlet): void {
  if (pipe === undefined) return;
  closeSync(pipe.write);
  closeSync(pipe.read);
}

/**
 * Reads the outlet of a command that has just been started, in the same tick: a stream that nobody reads is taken
 * into memory without bound.
 */
export function drain({ pipe }: Outlet, socket: unknown, take: (bytes: Uint8Array) => void): Drain {
  const reader = pipe === undefined ? readerOf(socket) : readerOfPipe(pipe);
  const done = pump(reader, take);
  return {
    done,
    async abandon() {
      await reader.cancel();
      await done;
    },
  };
}

type Reader = {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
};

function readerOfPipe({ read, write }: Pipe): Reader {
  closeSync(write);
  const reader = Bun.file(read).stream().getReader();
  // The reader has a duplicate of its own by now.
  closeSync(read);
  return reader;
}

function readerOf(socket: unknown): Reader {
  if (!(socket instanceof ReadableStream))
    throw new TypeError("A command was started without a way to read its output");
  return socket.getReader();
}

async function pump(reader: Reader, take: (bytes: Uint8Array) => void): Promise<void> {
  while (true) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return;
    take(value);
    release(value);
  }
}
