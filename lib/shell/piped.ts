import { Mailbox } from "../async/mailbox.ts";
import { SerialQueue } from "../async/serialqueue.ts";
import { release } from "../async/release.ts";
import { errnoOf } from "../errors.ts";
import type { Reader } from "../system/pipe.ts";
import type { Drain } from "./drain.ts";
import type { Job } from "./job.ts";
import { pipeBytes } from "./spawn.ts";

/** A program that koda talks to while it runs. */
export type PipedProgram = Pick<Job, "pid" | "ended" | "stop"> & {
  readonly stdin: ProgramInput;
  readonly stdout: ProgramOutput;
};

/** The standard input of a program. Writes arrive in the order of the calls. */
export class ProgramInput {
  readonly #sink: Bun.FileSink;
  /** One call of the sink at a time: of two that wait, only one would settle when the pipe breaks. */
  readonly #queue = new SerialQueue();
  readonly #closed = Promise.withResolvers<false>();
  #isClosed = false;

  constructor(sink: Bun.FileSink | undefined) {
    if (sink === undefined) throw new TypeError("A program was started without a way to write to its stdin");
    this.#sink = sink;
  }

  /**
   * Settles when the pipe has taken all of it, which it does no faster than the program reads. False when the program
   * reads no more, because it has ended or closed its stdin, and after `close`.
   */
  async write(data: string | Uint8Array): Promise<boolean> {
    return await Promise.race([this.#queue.run(async () => this.#write(data)), this.#closed.promise]);
  }

  /** Ends the input behind what was written before. The program may go on, and its output does. */
  async close(): Promise<void> {
    await Promise.race([this.#queue.run(async () => this.abandon()), this.#closed.promise]);
  }

  /** Closes the pipe, whatever is still to be written. */
  abandon(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closed.resolve(false);
    Promise.resolve(this.#sink.end()).catch(assertBroken);
  }

  async #write(data: string | Uint8Array): Promise<boolean> {
    if (this.#isClosed) return false;
    try {
      await this.#sink.write(data);
      await this.#sink.flush();
      return true;
    } catch (error) {
      assertBroken(error);
      this.abandon();
      return false;
    }
  }
}

function assertBroken(error: unknown): void {
  const errno = errnoOf(error);
  if (errno !== "EPIPE" && errno !== "ECONNRESET") throw error;
}

/** More than a full pipe: the last words of a program that has ended, while their reader takes its time. */
const mostAfterExit = 4 * pipeBytes;

/**
 * The standard output of a program, for one reader. It is read no faster than that reader takes it, so that a program
 * whose output is not wanted has to wait when its pipe is full. A piece is only lent: it is gone when the next one is
 * asked for.
 */
export class ProgramOutput implements Drain, AsyncIterable<Uint8Array> {
  readonly done: Promise<void>;
  readonly #reader: Reader;
  readonly #pieces = new Mailbox<Uint8Array>();
  #untaken = 0;
  #mostUntaken = 0;
  #room = Promise.withResolvers<void>();

  constructor(reader: Reader, exited: Promise<unknown>) {
    this.#reader = reader;
    this.done = this.#pump();
    const readAhead = () => this.#allow(mostAfterExit);
    exited.then(readAhead, readAhead);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const piece of this.#pieces.until(this.done)) {
        this.#untaken -= piece.length;
        this.#wake();
        yield piece;
        release(piece);
      }
    } finally {
      await this.abandon();
    }
  }

  /** Reads no further; a program that goes on writing gets a broken pipe. */
  async abandon(): Promise<void> {
    this.#allow(Infinity);
    await this.#reader.cancel();
    await this.done;
  }

  async #pump(): Promise<void> {
    while (true) {
      const { value } = await this.#reader.read();
      if (value === undefined) return;
      this.#untaken += value.length;
      this.#pieces.post(value);
      while (this.#untaken > this.#mostUntaken) await this.#room.promise;
    }
  }

  #allow(bytes: number): void {
    this.#mostUntaken = Math.max(this.#mostUntaken, bytes);
    this.#wake();
  }

  #wake(): void {
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }
}
