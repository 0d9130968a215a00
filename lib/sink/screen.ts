import type { Output } from "./output.ts";

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
  columns: number;
};

/**
 * Both streams as a person sees them. Where both end on one terminal their texts come in the order of writing and on
 * lines of their own, and the spinner is gone before anything else is shown. Elsewhere stdout's bytes are exactly what
 * was written, and stderr has no spinner.
 */
export class Screen {
  readonly #options: ScreenOptions;
  readonly #shared: boolean;
  #last: "stdout" | "stderr" = "stderr";
  #openLine: "stdout" | "stderr" | undefined;
  #deaf = false;
  #busy: { label: string; since: number } | undefined;
  #quietSince = 0;
  /** The spinner is on the screen. */
  #spinning = false;
  /** It is on its way there: a terminal that is held up gets no second one. */
  #drawing = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: ScreenOptions) {
    this.#options = options;
    this.#shared = options.stdoutIsTerminal && options.stderrIsTerminal;
  }

  async toStdout(text: string): Promise<void> {
    if (text === "") return;
    await this.#clear();
    if (this.#shared) await this.#turnTo("stdout");
    await this.#options.stdout.write(text);
    if (this.#shared) this.#note("stdout", text);
  }

  async toStderr(text: string): Promise<void> {
    if (text === "") return;
    await this.#clear();
    if (this.#shared) await this.#turnTo("stderr");
    await this.#say(text);
    this.#note("stderr", text);
  }

  /** What is being waited for; undefined when nothing is. Shows only on a terminal, and only when it takes long. */
  async wait(label: string | undefined): Promise<void> {
    if (!this.#options.stderrIsTerminal) return;
    if (label === undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#busy = undefined;
      return await this.#clear();
    }
    if (this.#quietSince === 0) this.#quietSince = performance.now();
    if (this.#busy?.label !== label) this.#busy = { label, since: performance.now() };
    this.#timer ??= setInterval(() => void this.#spin(), frameMs).unref();
  }

  /** Settles when all has left the process; throws what stdout threw. */
  async flush(): Promise<void> {
    await this.#say("", true);
    await this.#options.stdout.flush();
  }

  async #spin(): Promise<void> {
    const now = performance.now();
    const isDue = now - this.#quietSince >= patienceMs && this.#openLine === undefined && !this.#drawing;
    if (!this.#busy || !isDue) return;
    const elapsed = Math.floor((now - this.#busy.since) / 1_000);
    const frame = frames[Math.floor(now / frameMs) % frames.length];
    const line = Bun.sliceAnsi(`${frame} ${this.#busy.label} ${elapsed} s`, 0, this.#options.columns - 1);
    this.#spinning = true;
    this.#drawing = true;
    await this.#say(`${eraseLine}${line}`, true);
    this.#drawing = false;
  }

  /** Before anything is shown. The spinner stays away until what follows has been written, however long that takes. */
  async #clear(): Promise<void> {
    this.#quietSince = Infinity;
    if (!this.#spinning) return;
    this.#spinning = false;
    await this.#say(eraseLine, this.#shared);
  }

  /** Lets the other stream arrive first, and ends the line that it left open. */
  async #turnTo(stream: "stdout" | "stderr"): Promise<void> {
    if (this.#last === stream) return;
    if (this.#last === "stdout") await this.#options.stdout.flush();
    // The line is ended on stderr: what stdout says stays as it is.
    if (this.#openLine !== undefined) await this.#say("\n");
    if (stream === "stdout") await this.#say("", true);
    this.#openLine = undefined;
  }

  #note(stream: "stdout" | "stderr", text: string): void {
    this.#last = stream;
    this.#openLine = text.endsWith("\n") ? undefined : stream;
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
