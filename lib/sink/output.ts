import { readFileSync, write } from "node:fs";
import { errnoOf, KodaError, reasonOf } from "../errors.ts";

/** With more text waiting than this, a writer waits for the reader. */
const highWaterBytes = 256 * 1024;
/** The most bytes of one system call, so that a slow reader costs little memory. */
const chunkBytes = 256 * 1024;
const busyWaitsMs = [1, 2, 4, 8, 16, 32] as const;

/** Most writes return this one promise: making one for each of twenty thousand pieces of text would be slow. */
export const alreadyWritten: Promise<void> = Promise.resolve();

/**
 * Writes text to a file descriptor, whole and in order. The system call runs in the thread pool, so a reader that
 * stalls blocks only the writer; text that comes during a call goes out with the next one. `process.stdout` is not
 * used: it takes 5 ms to load, and its buffer is lost when the process exits.
 */
export class OutputStream {
  readonly #fd: number;
  readonly #name: string;
  #waiting: string[] = [];
  #waitingLength = 0;
  #pump: Promise<void> | undefined;
  #failure: KodaError | undefined;

  /** Messages call it `name`. */
  constructor(fd: number, name: string) {
    this.#fd = fd;
    this.#name = name;
    if (wasClosedAtStart(fd)) this.#failure = writeError(name, "bad file descriptor (EBADF)");
  }

  /** Settles when the text is on its way and the reader keeps up; rejects when the descriptor cannot be written to. */
  write(text: string): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (text === "") return alreadyWritten;
    this.#waiting.push(text);
    this.#waitingLength += text.length;
    this.#pump ??= this.#drain();
    return this.#waitingLength > highWaterBytes ? this.flush() : alreadyWritten;
  }

  /** True when everything written has left the process. */
  get isIdle(): boolean {
    return this.#pump === undefined;
  }

  /** Settles when everything written has left the process. */
  async flush(): Promise<void> {
    await this.#pump;
    if (this.#failure) throw this.#failure;
  }

  /** Never rejects: an error is kept for the next write or flush. */
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

/** The number of bytes written; 0 when another process made the descriptor non-blocking and it is full. */
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
  return writeError(name, reasonOf(error), error);
}

function writeError(name: string, reason: string, cause?: unknown): KodaError {
  return new KodaError("output", `Cannot write to ${name}: ${reason}`, { cause });
}

const closeOnExec = 0o2000000;

/**
 * The runtime opens /dev/null in place of a closed standard descriptor (`koda >&-`), where every write "succeeds". It
 * opens it close-on-exec, which an inherited descriptor cannot be.
 */
function wasClosedAtStart(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
    return fd <= 2 && flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    // No /proc, or a descriptor that does not exist: then the first write fails.
    return false;
  }
}
