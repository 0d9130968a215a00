import { Heartbeat } from "./heartbeat.ts";
import { type Output, settled } from "./output.ts";
import { openPaint } from "./style.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const frameMs = 100;
/** What takes less than this needs no spinner, and nothing flickers. */
const patienceMs = 400;
const eraseLine = "\r\u001b[K";

export type ScreenOptions = {
  stdout: Output;
  stderr: Output;
  stdoutIsTerminal: boolean;
  stderrIsTerminal: boolean;
  /** Both are one pipe or one file, as after `2>&1`. */
  isOneStream?: boolean;
  /** How wide the terminal is now. */
  columns: () => number;
  color: boolean;
  /** How long a log may be silent before it says that the run goes on. */
  heartbeatMs?: number;
};

/** The work that is being waited for: `running`, `npm test`; since when, by `performance.now()`. */
export type Busy = { verb: string; what: string; since: number };

/**
 * Both streams as a person sees them. Where both end on one terminal, or in one log, their texts come in the order of
 * writing and on lines of their own, and the spinner is gone before anything else is shown. Elsewhere stdout's bytes are
 * exactly what was written, and a stderr that is no terminal has a heartbeat for a spinner.
 */
export class Screen {
  readonly #options: ScreenOptions;
  readonly #shared: boolean;
  readonly #heartbeat: Heartbeat | undefined;
  #last: "stdout" | "stderr" = "stderr";
  /** Which of them has begun a line and not ended it. */
  readonly #open = { stdout: false, stderr: false };
  #deaf = false;
  #busy: Busy | undefined;
  #quietSince = 0;
  /** The spinner is on the screen. */
  #spinning = false;
  /** It is on its way there: a terminal that is held up gets no second one. */
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

  /** Stderr has begun a line and not ended it. */
  get stderrIsOpen(): boolean {
    return this.#open.stderr;
  }

  toStdout(text: string): Promise<void> {
    if (text === "") return settled;
    if (this.#shared) return this.#showInOrder(text);
    this.#open.stdout = !text.endsWith("\n");
    return this.#options.stdout.write(text);
  }

  async toStderr(text: string): Promise<void> {
    if (text === "") return;
    await this.#giveWay("stderr");
    this.#open.stderr = !text.endsWith("\n");
    await this.#say(text);
    this.#shown("stderr");
  }

  /** Ends the line that stdout is in, if the terminal has not moved on from it already. */
  async endLine(): Promise<void> {
    if (this.#open.stdout) await this.toStdout("\n");
  }

  /** Undefined when nothing is waited for. Shows only when it takes long. */
  async wait(busy: Busy | undefined): Promise<void> {
    this.#heartbeat?.wait(busy);
    if (!this.#options.stderrIsTerminal) return;
    if (busy === undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#busy = undefined;
      return await this.#clear();
    }
    if (this.#busy === undefined) this.#quietSince = performance.now();
    this.#busy = busy;
    this.#timer ??= setInterval(() => void this.#spin(), frameMs).unref();
  }

  /** Settles when all has left the process, for good; throws what stdout threw. */
  async flush(): Promise<void> {
    this.#heartbeat?.wait(undefined);
    await this.#say("", true);
    this.#flushed = true;
    await this.#options.stdout.flush();
  }

  /** The bytes that clear the line, for a process that leaves early: the shell's prompt then begins on a clean one. */
  leave(): string {
    if (this.#flushed || !this.#options.stderrIsTerminal) return "";
    return this.#open.stderr || (this.#shared && this.#open.stdout) ? "\n" : eraseLine;
  }

  async #showInOrder(text: string): Promise<void> {
    await this.#giveWay("stdout");
    await this.#options.stdout.write(text);
    this.#open.stdout = !text.endsWith("\n");
    this.#shown("stdout");
  }

  async #spin(): Promise<void> {
    const now = performance.now();
    const isMidLine = this.#open.stderr || (this.#shared && this.#open.stdout);
    if (!this.#busy || this.#drawing || isMidLine || now - this.#quietSince < patienceMs) return;
    const columns = this.#options.columns();
    if (columns !== this.#columns) return await this.#awaitSize(columns);
    const { verb, what, since } = this.#busy;
    const frame = frames[Math.floor(now / frameMs) % frames.length];
    const elapsed = ` ${Math.floor((now - since) / 1_000)} s`;
    const label = Bun.sliceAnsi(what || verb, 0, columns - elapsed.length - 3, "…");
    const line = Bun.sliceAnsi(`${frame} ${label}${elapsed}`, 0, columns - 1);
    this.#spinning = true;
    this.#drawing = true;
    await this.#say(`${eraseLine}${line}`, true);
    this.#drawing = false;
  }

  /** A terminal that is made narrower breaks the line in two, of which one can be erased: not again at each step. */
  async #awaitSize(columns: number): Promise<void> {
    this.#columns = columns;
    await this.#clear();
    this.#quietSince = performance.now();
  }

  /** The spinner then stays away until what follows has been written, however long that takes. */
  async #clear(): Promise<void> {
    this.#quietSince = Infinity;
    if (!this.#spinning) return;
    this.#spinning = false;
    await this.#say(eraseLine, this.#shared);
  }

  /** A beat is never within a line of the answer, and never beside text that is still on its way. */
  #logQuietSince(): number {
    const isFree = !this.#shared || (!this.#open.stdout && this.#options.stdout.isIdle);
    return isFree ? this.#quietSince : Infinity;
  }

  #addLine(text: string): void {
    void this.#say(`${this.#open.stderr ? "\n" : ""}${text}\n`);
    this.#open.stderr = false;
    this.#shown("stderr");
  }

  /** Before a stream shows something: no spinner, and the other stream's text first, with its line ended. */
  async #giveWay(stream: "stdout" | "stderr"): Promise<void> {
    await this.#clear();
    if (!this.#shared || this.#last === stream) return;
    if (this.#last === "stdout") await this.#options.stdout.flush();
    // The line is ended on stderr: what stdout says stays as it is.
    if (this.#open.stdout || this.#open.stderr) await this.#say("\n");
    if (stream === "stdout") await this.#say("", true);
    this.#open.stdout = false;
    this.#open.stderr = false;
  }

  #shown(stream: "stdout" | "stderr"): void {
    this.#last = stream;
    this.#quietSince = performance.now();
  }

  /** A stderr that takes no more ends no run: its text is for people, and the outcome is told elsewhere. */
  async #say(text: string, wholly = false): Promise<void> {
    if (this.#deaf) return;
    try {
      await this.#options.stderr.write(text);
      if (wholly) await this.#options.stderr.flush();
    } catch {
      this.#deaf = true;
    }
  }
}
