import { release } from "../async/release.ts";
import { closePipe, openPipe, readerOf, type Pipe, type Reader } from "../system/pipe.ts";

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

/** Four times the usual: a fast command waits for us less often. */
const outletBytes = 256 * 1024;

export function openOutlet(): Outlet {
  const pipe = openPipe({ bytes: outletBytes });
  return { stdio: pipe?.write ?? "pipe", pipe };
}

/** For a command that could not be started. */
export function closeOutlet({ pipe }: Outlet): void {
  closePipe(pipe);
}

/**
 * Reads the outlet of a command that has just been started, in the same tick: a stream that nobody reads is taken
 * into memory without bound.
 */
export function drain({ pipe }: Outlet, socket: unknown, take: (bytes: Uint8Array) => void): Drain {
  const reader = pipe === undefined ? readerOfSocket(socket) : readerOf(pipe);
  const done = pump(reader, take);
  return {
    done,
    async abandon() {
      await reader.cancel();
      await done;
    },
  };
}

function readerOfSocket(socket: unknown): Reader {
  if (!(socket instanceof ReadableStream))
    throw new TypeError("A command was started without a way to read its output");
  return socket.getReader();
}

/** What a talkative command leaves in the heap is given back now and then: a few milliseconds for some megabytes. */
const shrinkEveryBytes = 40 * 1024 * 1024;

async function pump(reader: Reader, take: (bytes: Uint8Array) => void): Promise<void> {
  let sinceShrunk = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return;
    take(value);
    sinceShrunk += value.length;
    release(value);
    if (sinceShrunk < shrinkEveryBytes) continue;
    sinceShrunk = 0;
    Bun.shrink();
  }
}
