import { within } from "../async/within.ts";
import { isRecord, readJson } from "../config/json.ts";
import { messageOf } from "../errors.ts";
import type { PipedProgram } from "../shell/piped.ts";
import { type JSONRPCMessage, type Transport, withoutNull } from "./client.ts";
import { mostMessageBytes } from "./limits.ts";
import { serverLog } from "./serverlog.ts";

type Start = (stderr: (bytes: Uint8Array) => void) => PipedProgram;

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
  #isClosing = false;

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
    const program = this.#start((bytes) => this.#log.add(bytes));
    this.#program = program;
    this.#reading = this.#read(program);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const isTaken = await this.#program?.stdin.write(`${JSON.stringify(message)}\n`);
    if (isTaken !== true) throw new Error(this.fault ?? "the program reads no more");
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
      for await (const line of linesOf(program.stdout)) this.#take(line);
      await within(exitMs, program.ended);
    } catch (error) {
      fault = messageOf(error);
    }
    await program.stop();
    const { exitCode, signal, stopped } = await program.ended;
    const isOwn = stopped === undefined;
    if (isOwn) this.#fault = signal === undefined ? `exited with ${exitCode}` : `was killed by ${signal}`;
    // One that was closed had no fault of its own.
    else if (!this.#isClosing) this.#fault = fault;
    this.onclose?.();
  }

  /** A program may print what is no message: that belongs to its log. */
  #take(line: Buffer): void {
    if (line.length === 0) return;
    const { value } = readJson(line.toString());
    if (!isRecord(value)) return this.#log.add(Buffer.concat([line, Buffer.from("\n")]));
    // The library checks each message that it is given.
    this.onmessage?.(withoutNull(value as JSONRPCMessage));
  }
}

/** The lines of an output, each at most as long as a message may be. */
async function* linesOf(output: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const piece of output) {
    let from = 0;
    for (let at = piece.indexOf(newline); at !== -1; at = piece.indexOf(newline, from)) {
      yield Buffer.concat([...parts, piece.subarray(from, at)]);
      [parts, length, from] = [[], 0, at + 1];
    }
    length += piece.length - from;
    if (length > mostMessageBytes) throw new Error(`it sent a message of more than ${mostMessageBytes / 2 ** 20} MiB`);
    // The piece is only lent.
    if (from < piece.length) parts.push(Buffer.from(piece.subarray(from)));
  }
}

const newline = 10;
const exitMs = 1_000;
