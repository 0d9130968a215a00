import { within } from "../async/within.ts";
import { isRecord, readJson } from "../config/json.ts";
import { messageOf } from "../errors.ts";
import { release } from "../async/release.ts";
import type { Take } from "../shell/drain.ts";
import type { PipedProgram } from "../shell/piped.ts";
import type { JSONRPCMessage, Transport } from "./client.ts";
import { mostMessageBytes } from "./limits.ts";
import { collectAfter, messageBytes, newThrottle, type Throttle } from "./throttle.ts";
import { serverLog } from "./serverlog.ts";

type Start = (stderr: Take) => PipedProgram;

/**
 * A server that is a program of the sandbox: a message is a line. The library's own transport starts the program
 * itself, and would start it outside of the sandbox.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #start: Start;
  readonly #log = serverLog();
  #program: PipedProgram | undefined;
  #reading: Promise<void> | undefined;
  #fault: string | undefined;
  /** Why koda ended the program. */
  #reason: string | undefined;
  #isClosing = false;
  #unsent = 0;

  constructor(start: Start) {
    this.#start = start;
  }

  /** Why the connection ended, with the program's last words. */
  get fault(): string | undefined {
    if (this.#fault === undefined) return undefined;
    const said = this.#log.last();
    return said === "" ? this.#fault : `${this.#fault}: ${said}`;
  }

  async start(): Promise<void> {
    const throttle = newThrottle();
    const program = this.#start((bytes) => {
      this.#log.add(bytes);
      return throttle(bytes.length);
    });
    this.#program = program;
    this.#reading = this.#read(program);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    // A server that asks without a pause and reads no answers.
    if (++this.#unsent > mostUnsent) this.#giveUp(`it has left ${mostUnsent} messages unread`);
    const isTaken = await this.#program?.stdin.write(`${JSON.stringify(message)}\n`);
    this.#unsent--;
    if (isTaken === true) return;
    // One that reads no more is usually about to exit, which says more.
    if (this.#reading !== undefined) await within(exitMs, this.#reading);
    throw new Error(this.fault ?? "the program reads no more");
  }

  #giveUp(reason: string): void {
    this.#reason ??= reason;
    void this.#program?.stop();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#program?.stop();
    await this.#reading;
  }

  /** Reads until the program ends; one that closes its output is about to, or is ended. */
  async #read(program: PipedProgram): Promise<void> {
    let fault = "the program closed its output";
    try {
      const throttle = newThrottle();
      for await (const line of linesOf(program.stdout, throttle)) {
        // There may be thousands of messages more, each of which would have to wait.
        if (this.#isClosing || this.#reason !== undefined) break;
        if (this.#take(line)) await throttle(messageBytes);
      }
      await within(exitMs, program.ended);
    } catch (error) {
      fault = messageOf(error);
    }
    await program.stop();
    const { exitCode, signal, stopped } = await program.ended;
    const isOwn = stopped === undefined;
    if (isOwn) this.#fault = signal === undefined ? `exited with ${exitCode}` : `was killed by ${signal}`;
    // One that was closed had no fault of its own.
    else if (!this.#isClosing) this.#fault = this.#reason ?? fault;
    this.onclose?.();
  }

  /** Hands a message on, if the line is one that is of use. */
  #take(line: string): boolean {
    if (line === "") return false;
    const { value, problem, isNested = false } = line.startsWith("{") ? readJson(line) : {};
    if (isNested) throw new Error(`it sent a message that cannot be read: ${problem}`);
    if (!isRecord(value)) {
      // A program may print what is no message: that belongs to its log.
      this.#log.add(`${line}\n`);
      return false;
    }
    if (value.method === "notifications/message") return false;
    // The library checks each message that it is given.
    this.onmessage?.(value as JSONRPCMessage);
    return true;
  }
}

/** The lines of an output, each at most as long as a message may be. */
async function* linesOf(output: AsyncIterable<Uint8Array>, throttle: Throttle): AsyncGenerator<string, void> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const piece of output) {
    await throttle(piece.length);
    let from = 0;
    for (let at = piece.indexOf(newline); at !== -1; at = piece.indexOf(newline, from)) {
      const end = Buffer.from(piece.buffer, piece.byteOffset + from, at - from);
      const line = parts.length === 0 ? end.toString() : textOf([...parts, end]);
      [parts, length, from] = [[], 0, at + 1];
      yield line;
    }
    length += piece.length - from;
    if (length > mostMessageBytes) throw new Error(`it sent a message of more than ${mostMessageBytes / 2 ** 20} MiB`);
    // The piece is only lent.
    if (from < piece.length) parts.push(Buffer.from(piece.subarray(from)));
  }
}

/** A long message is in memory often enough: its bytes go before it is read. */
function textOf(parts: readonly Buffer[]): string {
  const whole = Buffer.concat(parts);
  collectAfter(whole.length, whole.length);
  const text = whole.toString();
  for (const part of [...parts, whole]) release(part);
  return text;
}

/** Messages that wait until the program reads. */
const mostUnsent = 1_000;
const newline = 10;
const exitMs = 1_000;
