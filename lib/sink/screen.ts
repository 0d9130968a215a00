import { Heartbeat } from "./heartbeat.ts";
import { alreadyWritten } from "./output.ts";
import type { SinkOptions } from "./sink.ts";
import { openPaint } from "./style.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const frameMs = 100;
/** Shorter waits get no spinner, so that nothing flickers. */
const spinnerAfterMs = 400;
export const eraseLine = "\r\u001b[K";

type ScreenOptions = Pick<
  SinkOptions,
  | "stdout"
  | "stderr"
  | "stdoutIsTerminal"
  | "stderrIsTerminal"
  | "isOneStream"
  | "isTyping"
  | "columns"
  | "color"
  | "heartbeatMs"
>;

/** The work in progress: `running`, `npm test`; `since` is a time of `performance.now()`. */
export type Activity = { verb: string; what: string; since: number };

/**
 * Both streams as people see them. When both are one terminal or one log, their text appears in the order of writing
 * and on separate lines, and the spinner is removed first. Otherwise stdout is exactly what was written. A stderr that
 * is not a terminal has a heartbeat instead of a spinner.
 */
export class Screen {
  readonly #options: ScreenOptions;
  readonly #shared: boolean;
  readonly #heartbeat: Heartbeat | undefined;
  #last: "stdout" | "stderr" = "stderr";
  /** True for a stream whose last line is unfinished. */
  readonly #open = { stdout: false, stderr: false };
  #stderrFailed = false;
  #activity: Activity | undefined;
  #quietSince = 0;
  /** True while the spinner is visible. */
  #spinning = false;
  /** True while a frame is being written: a slow terminal gets no second one. */
  #drawing = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #columns = 0;
  #flushed = false;

  constructor(options: ScreenOptions) {
    this.#options = options;
    if (options.stderrIsTerminal) this.#columns = options.columns();
    this.#shared = (options.stdoutIsTerminal && options.stderrIsTerminal) || options.isOneStream === true;
    if (options.stderrIsTerminal) return;
    const log = { quietSince: () => this.#logQuietSince(), addLine: (text: string) => this.#addLine(text) };
    this.#heartbeat = new Heartbeat(log, openPaint(options.color), options.heartbeatMs);
  }

  /** True when the last line of stderr is unfinished. */
  get stderrIsOpen(): boolean {
    return this.#open.stderr;
  }

  toStdout(text: string): Promise<void> {
    if (text === "") return alreadyWritten;
    if (this.#shared) return this.#showInOrder(text);
    this.#open.stdout = !text.endsWith("\n");
    return this.#options.stdout.write(text);
  }

  async toStderr(text: string): Promise<void> {
    if (text === "") return;
    await this.#switchTo("stderr");
    this.#open.stderr = !text.endsWith("\n");
    await this.#writeStderr(text);
    this.#shown("stderr");
  }

  /** Ends an unfinished line of stdout. */
  async endLine(): Promise<void> {
    if (this.#open.stdout) await this.toStdout("\n");
  }

  /** Shows the activity when it takes long; undefined ends it. */
  async wait(activity: Activity | undefined): Promise<void> {
    this.#heartbeat?.wait(activity);
    if (!this.#options.stderrIsTerminal) return;
    if (activity === undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#activity = undefined;
      return await this.#clear();
    }
    if (this.#activity === undefined) this.#quietSince = performance.now();
    this.#activity = activity;
    this.#timer ??= setInterval(() => void this.#spin(), frameMs).unref();
  }

  /** Settles when everything has left the process; throws the error of stdout. */
  async flush(): Promise<void> {
    this.#heartbeat?.wait(undefined);
    await this.#writeStderr("", true);
    this.#flushed = true;
    await this.#options.stdout.flush();
  }

  /** Bytes for a process that exits early, so that the shell's prompt starts on an empty line. */
  clearLine(): string {
    if (this.#flushed || !this.#options.stderrIsTerminal) return "";
    return this.#open.stderr || (this.#shared && this.#open.stdout) ? "\n" : eraseLine;
  }

  async #showInOrder(text: string): Promise<void> {
    await this.#switchTo("stdout");
    await this.#options.stdout.write(text);
    this.#open.stdout = !text.endsWith("\n");
    this.#shown("stdout");
  }

  async #spin(): Promise<void> {
    const now = performance.now();
    const isMidLine = this.#open.stderr || (this.#shared && this.#open.stdout);
    const isTaken = isMidLine || this.#options.isTyping?.() === true;
    if (!this.#activity || this.#drawing || isTaken || now - this.#quietSince < spinnerAfterMs) return;
    const columns = this.#options.columns();
    if (columns !== this.#columns) return await this.#waitForResize(columns);
    const { verb, what, since } = this.#activity;
    const frame = frames[Math.floor(now / frameMs) % frames.length];
    const elapsed = ` ${Math.floor((now - since) / 1_000)} s`;
    const label = Bun.sliceAnsi(what || verb, 0, columns - elapsed.length - 3, "…");
    const line = Bun.sliceAnsi(`${frame} ${label}${elapsed}`, 0, columns - 1);
    this.#spinning = true;
    this.#drawing = true;
    await this.#writeStderr(`${eraseLine}${line}`, true);
    this.#drawing = false;
  }

  /** A narrower terminal wraps the spinner's line and only half of it can be erased: wait until resizing has ended. */
  async #waitForResize(columns: number): Promise<void> {
    this.#columns = columns;
    await this.#clear();
    this.#quietSince = performance.now();
  }

  /** The spinner stays away until the text that follows has been written. */
  async #clear(): Promise<void> {
    this.#quietSince = Infinity;
    if (!this.#spinning) return;
    this.#spinning = false;
    await this.#writeStderr(eraseLine, this.#shared);
  }

  /** No heartbeat within a line of the answer, or while text is still on its way. */
  #logQuietSince(): number {
    const isFree = !this.#shared || (!this.#open.stdout && this.#options.stdout.isIdle);
    return isFree ? this.#quietSince : Infinity;
  }

  #addLine(text: string): void {
    void this.#writeStderr(`${this.#open.stderr ? "\n" : ""}${text}\n`);
    this.#open.stderr = false;
    this.#shown("stderr");
  }

  /** Before a stream is written to, the spinner is removed and the other stream is flushed and its line ended. */
  async #switchTo(stream: "stdout" | "stderr"): Promise<void> {
    await this.#clear();
    if (!this.#shared || this.#last === stream) return;
    if (this.#last === "stdout") await this.#options.stdout.flush();
    // On stderr, so that stdout stays exactly as written.
    if (this.#open.stdout || this.#open.stderr) await this.#writeStderr("\n");
    if (stream === "stdout") await this.#writeStderr("", true);
    this.#open.stdout = false;
    this.#open.stderr = false;
  }

  #shown(stream: "stdout" | "stderr"): void {
    this.#last = stream;
    this.#quietSince = performance.now();
  }

  /** A stderr that fails does not end the run: stdout and the exit code have the outcome. */
  async #writeStderr(text: string, flush = false): Promise<void> {
    if (this.#stderrFailed) return;
    try {
      await this.#options.stderr.write(text);
      if (flush) await this.#options.stderr.flush();
    } catch {
      this.#stderrFailed = true;
    }
  }
}
