import { readFileSync, write } from "node:fs";
import { errnoOf, KodaError, reasonOf } from "../errors.ts";

/** Beyond this much waiting text a writer is made to wait for the reader. */
const highWaterBytes = 256 * 1024;
/** One system call carries at most this much, so that what a slow reader costs in memory stays small. */
const chunkBytes = 256 * 1024;
const busyWaitsMs = [1, 2, 4, 8, 16, 32] as const;

/** What most writes return: with twenty thousand pieces of text it counts that no promise is made for each. */
export const settled: Promise<void> = Promise.resolve();

/**
 * Text to a file descriptor, whole and in order. The system call is made in the thread pool, so a reader that does not
 * read stops the writer and nothing else; what is written while a call is under way goes out together with the next.
 * `process.stdout` is not used: touching it costs 5 ms, and it loses what is buffered when the process exits.
 */
export class Output {
  readonly #fd: number;
  readonly #name: string;
  #waiting: string[] = [];
  #waitingLength = 0;
  #pump: Promise<void> | undefined;
  #failure: KodaError | undefined;

  /** `name` is how messages call it. */
  constructor(fd: number, name: string) {
    this.#fd = fd;
    this.#name = name;
    if (wasClosedAtStart(fd)) this.#failure = unwritable(name, "EBADF: it is closed");
  }

  /** Settles when the text is on its way and the reader keeps up. Rejects when the descriptor takes no more. */
  write(text: string): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (text === "") return settled;
    this.#waiting.push(text);
    this.#waitingLength += text.length;
    this.#pump ??= this.#drain();
    return this.#waitingLength > highWaterBytes ? this.flush() : settled;
  }

  /** Everything written has left the process. */
  get isIdle(): boolean {
    return this.#pump === undefined;
  }

  /** Settles when everything written has left the process. */
  async flush(): Promise<void> {
    await this.#pump;
    if (this.#failure) throw this.#failure;
  }

  /** Never rejects: what goes wrong is kept, and whoever writes or flushes next is told. */
  async #drain(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const text = this.#waiting.join("");
        this.#waiting = [];
        this.#waitingLength = 0;
        await writeWhole(this.#fd, Buffer.from(text));
      }
    } catch (error) {
      this.#waiting = [];
      this.#failure = failureOf(error, this.#name);
    }
    this.#pump = undefined;
  }
}

async function writeWhole(fd: number, bytes: Buffer): Promise<void> {
  let sent = 0;
  let refusals = 0;
  while (sent < bytes.length) {
    const taken = await writeSome(fd, bytes.subarray(sent, sent + chunkBytes));
    sent += taken;
    refusals = taken > 0 ? 0 : refusals + 1;
    if (taken === 0) await Bun.sleep(busyWaitsMs[Math.min(refusals, busyWaitsMs.length) - 1] ?? 1);
  }
}

/** How many bytes were taken; none when a descriptor that somebody made non-blocking is full. */
function writeSome(fd: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, null, (error, taken) => {
      if (!error) return resolve(taken);
      if (error.code === "EAGAIN" || error.code === "EINTR") return resolve(0);
      reject(error);
    });
  });
}

function failureOf(error: unknown, name: string): KodaError {
  if (errnoOf(error) === "EPIPE")
    return new KodaError("reader_gone", `The reader of ${name} went away`, { cause: error });
  return unwritable(name, reasonOf(error), error);
}

function unwritable(name: string, reason: string, cause?: unknown): KodaError {
  return new KodaError("output", `Cannot write to ${name}: ${reason}`, { cause });
}

const closeOnExec = 0o2000000;

/**
 * The runtime opens /dev/null in place of a standard descriptor that is closed (`koda >&-`), and every write to it
 * "succeeds". It opens it close-on-exec, which no inherited descriptor can be.
 */
function wasClosedAtStart(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
    return fd <= 2 && flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    // No /proc to ask (or a descriptor that does not exist, which the first write will say).
    return false;
  }
}
