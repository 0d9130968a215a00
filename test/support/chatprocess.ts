import { closeSync, read, writeSync } from "node:fs";
import { lineSchema } from "../../lib/engine/event.ts";
import { errnoOf } from "../../lib/errors.ts";
import { openPipe } from "../../lib/system/pipe.ts";
import { binary, type Line } from "./koda.ts";
import type { Place } from "./place.ts";
import { until } from "./until.ts";

export type ToldLine = Line & { submission?: string | undefined };

/** A `koda chat --json` whose output is read to the last byte in the pipe, also after a kill. */
export class ChatProcess implements AsyncDisposable {
  /** Those that were written whole. */
  readonly lines: ToldLine[] = [];
  /** Settles when it is dead and everything that it wrote was read. */
  readonly over: Promise<void>;
  readonly #child: Bun.Subprocess<number, number, "pipe">;
  readonly #input: number;
  #isOpen = true;
  readonly #begun = Promise.withResolvers<void>();
  #mayRead: Promise<unknown> = Promise.resolve();
  readonly #left = Promise.withResolvers<void>();
  #isLeft = false;

  constructor(
    place: Place,
    args: readonly string[],
    see: (line: ToldLine) => void,
    { beginsFull = false }: { beginsFull?: boolean } = {},
  ) {
    const [input, output] = [openPipe(), openPipe()];
    if (input === undefined || output === undefined) throw new Error("there are no pipes here");
    if (beginsFull) {
      writeSync(output.write, "\n".repeat(64 * 1024));
      this.#mayRead = this.#begun.promise;
    }
    this.#input = input.write;
    const { project: cwd, env } = place;
    const argv = [binary, "chat", "--json", ...args];
    this.#child = Bun.spawn(argv, { cwd, env, stdin: input.read, stdout: output.write, stderr: "pipe" });
    closeSync(input.read);
    closeSync(output.write);
    this.over = this.#follow(output.read, see);
  }

  get pid(): number {
    return this.#child.pid;
  }

  get exit(): number | null {
    return this.#child.exitCode;
  }

  get wasKilled(): boolean {
    return this.#child.signalCode === "SIGKILL";
  }

  submit(line: string): void {
    if (!this.#isOpen) return;
    try {
      writeSync(this.#input, `${line}\n`);
    } catch (error) {
      if (errnoOf(error) !== "EPIPE") throw error;
    }
  }

  /** Ends its input. */
  close(): void {
    if (this.#isOpen) closeSync(this.#input);
    this.#isOpen = false;
  }

  stop(): void {
    this.#child.kill("SIGTERM");
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Reads nothing more while it lives. */
  pause(): void {
    this.#mayRead = this.#child.exited;
  }

  /** Takes what fills the pipe, and everything after it. */
  drain(): void {
    this.#begun.resolve();
  }

  /** Goes away without reading the rest. Settles when that is so, which takes something to read. */
  async leave(): Promise<void> {
    this.#isLeft = true;
    await this.#left.promise;
  }

  /** The first line of this type, about this submission. */
  async seen(type: ToldLine["type"], submission?: string): Promise<ToldLine> {
    const find = () => this.lines.find((line) => line.type === type && line.submission === submission);
    await until(() => find() !== undefined, `${type} ${submission}`);
    return find() as ToldLine;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    this.drain();
    await this.over;
  }

  async #follow(output: number, see: (line: ToldLine) => void): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of this.#bytesOf(output)) {
      const texts = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = texts.pop() ?? "";
      for (const text of texts) {
        if (text === "") continue;
        const line: ToldLine = lineSchema.parse(JSON.parse(text));
        this.lines.push(line);
        see(line);
      }
    }
    closeSync(output);
    this.#left.resolve();
    this.close();
    const [stderr] = await Promise.all([this.#child.stderr.text(), this.#child.exited]);
    if (this.wasKilled || this.#isLeft) return;
    const end = this.lines.at(-1);
    if (rest !== "" || end?.type !== "end" || end.exit !== this.exit)
      throw new Error(`exit ${this.exit} after ${rest} ${JSON.stringify(end)}: ${stderr}`);
  }

  /** All that comes out of a pipe until nobody can write to it any more. */
  async *#bytesOf(pipe: number): AsyncGenerator<Uint8Array, void> {
    const buffer = new Uint8Array(64 * 1024);
    while (!this.#isLeft) {
      await this.#mayRead;
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      read(pipe, buffer, 0, buffer.length, null, (error, length) => (error ? reject(error) : resolve(length)));
      const length = await promise;
      if (length === 0) return;
      yield buffer.subarray(0, length);
    }
  }
}
