import { describeSkipped } from "../config/describe.ts";
import type { Event, EventOf } from "../engine/event.ts";
import { Asides } from "./aside.ts";
import { Calls } from "./calls.ts";
import { describeEgress } from "./egress.ts";
import { Lines } from "./lines.ts";
import type { Busy, Screen } from "./screen.ts";
import type { Writer } from "./sink.ts";
import { harmless, named, openPaint, plain, seconds, type Paint } from "./style.ts";
import { banner, complaint, summary, warnings } from "./summary.ts";

export type ProgressOptions = {
  quiet: boolean;
  verbose: boolean;
  color: boolean;
  columns: () => number;
  stderrIsTerminal: boolean;
  /** Whether stdout shows text as it comes. If not, text that is not the answer is shown here. */
  textIsShown: boolean;
  hasSchema?: boolean;
};

const mostFiles = 20;

/** The run for people, on stderr: what it works with, what it does, how it ended. */
export function openProgress(screen: Screen, options: ProgressOptions): Writer {
  const lines = new Lines(screen);
  const paint = openPaint(options.color);
  if (options.quiet) return (event) => complain(event, lines, paint);

  const progress = new Progress(screen, lines, paint, options);
  return (event) => progress.write(event);
}

/** For those who asked for silence: what went wrong, and what makes the run less safe than they may think. */
async function complain(event: Event, lines: Lines, paint: Paint): Promise<void> {
  if (event.type === "session.start")
    for (const warning of warnings(event)) await lines.line(noticeLine("warn", warning, paint));
  if (event.type === "notice" && event.level === "error") await lines.line(noticeLine("error", event.message, paint));
  if (event.type === "end" && event.error) await lines.line(complaint(event.error, paint));
}

class Progress {
  readonly #screen: Screen;
  readonly #lines: Lines;
  readonly #paint: Paint;
  readonly #options: ProgressOptions;
  readonly #calls: Calls;
  readonly #asides: Asides;
  /** Each entry of the list with the state it was last shown in. */
  #todo = new Map<string, string>();
  readonly #unreached = new Set<string>();
  #isReconnecting = false;
  /** The turn came to its end, whatever became of its answer then. */
  #isComplete = false;

  constructor(screen: Screen, lines: Lines, paint: Paint, options: ProgressOptions) {
    this.#screen = screen;
    this.#lines = lines;
    this.#paint = paint;
    this.#options = options;
    this.#asides = new Asides(options.hasSchema ?? false);
    this.#calls = new Calls(lines, { ...options, paint });
  }

  /** Pieces of text are many, and nothing is shown of them: they cost no promise. */
  write(event: Event): Promise<void> | undefined {
    if (event.type !== "text.delta") return this.#show(event);
    this.#asides.add(event.text);
    return this.#isReconnecting ? this.#reconnected() : undefined;
  }

  async #show(event: Exclude<Event, { type: "text.delta" }>): Promise<void> {
    switch (event.type) {
      case "session.start":
        return await this.#start(event);
      case "turn.start":
        return await this.#wait(busyWith("thinking"));
      case "turn.end":
        this.#isComplete = event.reason === "complete";
        return;
      case "usage":
        return;
      case "text.done":
        return this.#asides.close(event.text);
      case "thinking.delta":
        if (this.#isReconnecting) await this.#reconnected();
        if (this.#options.verbose) await this.#think(event.text);
        return;
      case "tool.start":
        await this.#aside(this.#asides.beforeCall());
        await this.#calls.start(event);
        return await this.#wait(this.#calls.busy);
      case "tool.output":
        return await this.#calls.output(event);
      case "tool.end":
        await this.#calls.end(event);
        return await this.#wait(this.#calls.busy ?? busyWith("thinking"));
      case "retry":
        await this.#aside(this.#asides.broken());
        return await this.#retry(event);
      case "diff":
        return await this.#files(event);
      case "todo":
        return await this.#changes(event);
      case "egress":
        return await this.#reach(event);
      case "notice":
        return await this.#lines.line(noticeLine(event.level, event.message, this.#paint));
      case "end":
        return await this.#end(event);
      default:
        event satisfies never;
    }
  }

  async #start(event: EventOf<"session.start">): Promise<void> {
    await this.#lines.line(banner(event, this.#paint));
    // Either backend that confines nothing says so in its notes; what a real one has to say is for the curious.
    const { backend, notes } = event.sandbox;
    if (backend === "none") for (const note of notes) await this.#lines.line(noticeLine("warn", note, this.#paint));
    for (const { name, error } of event.mcp)
      if (error) await this.#lines.line(noticeLine("warn", `MCP server "${name}": ${error}`, this.#paint));
    for (const key of event.skipped) await this.#lines.line(noticeLine("warn", describeSkipped(key), this.#paint));
    if (!this.#options.verbose) return;
    await this.#detail("session", event.session);
    await this.#detail("tools", event.tools.join(" "));
    await this.#detail("instructions", event.instructions.join(" "));
    if (backend !== "none") for (const note of notes) await this.#detail("sandbox", note);
  }

  async #detail(name: string, text: string): Promise<void> {
    if (text !== "") await this.#lines.line(this.#paint.dim(`  ${name}: ${plain(text)}`));
  }

  async #think(text: string): Promise<void> {
    await this.#lines.piece("thinking", text, { margin: "  ", paint: this.#paint.dim });
  }

  async #aside(text: string): Promise<void> {
    if (text !== "" && !this.#options.textIsShown) await this.#lines.line(harmless(text));
  }

  async #retry({ reason, attempt, max, delay_ms: delay }: EventOf<"retry">): Promise<void> {
    const next = `; retry ${attempt} of ${max} in ${seconds(delay)}`;
    await this.#lines.line(this.#paint.yellow(`↻ ${plain(reason)}`) + this.#paint.dim(next));
    await this.#wait(busyWith("reconnecting"));
    this.#isReconnecting = true;
  }

  async #files({ files }: EventOf<"diff">): Promise<void> {
    const letters = { add: "A", update: "M", delete: "D" } as const;
    for (const { path, kind, added, removed } of files.slice(0, mostFiles)) {
      const size = added === null ? "" : ` ${this.#paint.green(`+${added}`)} ${this.#paint.red(`-${removed ?? 0}`)}`;
      await this.#lines.line(`  ${letters[kind]} ${named(path)}${size}`);
    }
    if (files.length > mostFiles) await this.#lines.line(this.#paint.dim(`  … and ${files.length - mostFiles} more`));
  }

  /** Only what is new or has changed: the list is sent whole each time. */
  async #changes({ items }: EventOf<"todo">): Promise<void> {
    const marks = { pending: "☐", in_progress: "▸", done: "☑" } as const;
    for (const { text, status } of items)
      if (this.#todo.get(text) !== status) await this.#lines.line(`  ${marks[status]} ${named(text)}`);
    this.#todo = new Map(items.map(({ text, status }) => [text, status]));
  }

  /** What was not reached, once: a client that fails tries again and again. */
  async #reach(event: EventOf<"egress">): Promise<void> {
    const line = describeEgress(event);
    if (!this.#options.verbose && (event.verdict === "allowed" || this.#unreached.has(line))) return;
    this.#unreached.add(line);
    if (event.verdict === "allowed") await this.#lines.line(this.#paint.dim(`  ${plain(line)}`));
    else await this.#lines.line(noticeLine("warn", line, this.#paint));
  }

  async #reconnected(): Promise<void> {
    await this.#wait(busyWith("thinking"));
  }

  async #wait(busy: Busy | undefined): Promise<void> {
    this.#isReconnecting = false;
    await this.#screen.wait(busy);
  }

  async #end(event: EventOf<"end">): Promise<void> {
    await this.#wait(undefined);
    await this.#aside(this.#asides.atEnd(event));
    if (event.error) await this.#lines.line(complaint(event.error, this.#paint));
    if (event.session === null) return;
    await this.#lines.line(summary(event, this.#paint));
    if (event.resume === null) return;
    // A complete turn is continued by a prompt, one that was cut off by the line alone.
    const line = this.#isComplete ? `${event.resume} "…"` : event.resume;
    await this.#lines.line(this.#paint.dim(`  to continue: ${line}`));
  }
}

function busyWith(verb: string): Busy {
  return { verb, what: "", since: performance.now() };
}

function noticeLine(level: EventOf<"notice">["level"], message: string, paint: Paint): string {
  const marks = { info: paint.dim("·"), warn: paint.yellow("!"), error: paint.red("✗") } as const;
  return `${marks[level]} ${harmless(message)}`;
}
