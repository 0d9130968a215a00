import { describeSkipped } from "../config/describe.ts";
import { withCommas } from "../counted.ts";
import type { Event, EventOf } from "../engine/event.ts";
import { visible, visibleLine } from "../visible.ts";
import { AgentLines } from "./agents.ts";
import { CallLines } from "./calls.ts";
import { Commentary } from "./commentary.ts";
import { describeEgress } from "./egress.ts";
import { LineWriter } from "./lines.ts";
import type { Activity, Screen } from "./screen.ts";
import type { EventWriter, SinkOptions } from "./sink.ts";
import { inline, openPaint, type Paint } from "./style.ts";
import { banner, errorLine, executableLine, retryLine, summary, warnings } from "./summary.ts";
import { commandEnd, commandOutput, commandStart } from "./usercommands.ts";

type ProgressOptions = Pick<
  SinkOptions,
  "quiet" | "verbose" | "color" | "columns" | "stderrIsTerminal" | "hasSchema" | "isChat"
> & {
  /** stdout shows text as it comes; otherwise text that is not the answer is shown here. */
  textIsShown: boolean;
};

const mostFiles = 20;
/** Longer than any wait before a reconnection. */
const longWait = 60_000;

/** The progress of a run for people, on stderr. */
export function openProgress(screen: Screen, options: ProgressOptions): EventWriter {
  const lines = new LineWriter(screen);
  const paint = openPaint(options.color);
  if (options.quiet) return (event) => writeQuietly(event, lines, { ...options, paint });

  const progress = new Progress(screen, lines, paint, options);
  return (event) => progress.write(event);
}

/** With --quiet: only errors and safety warnings. */
async function writeQuietly(
  event: Event,
  lines: LineWriter,
  { paint, isChat = false }: Pick<ProgressOptions, "isChat"> & { paint: Paint },
): Promise<void> {
  const failure = isChat ? failureIn(event) : undefined;
  if (failure !== undefined) await lines.line(errorLine(failure, paint));
  if (event.type === "session.start")
    for (const warning of warnings(event)) await lines.line(noticeLine("warn", warning, paint));
  if (event.type === "notice" && event.level === "error") await lines.line(noticeLine("error", event.message, paint));
  if (event.type === "end" && event.error) await lines.line(errorLine(event.error, paint));
}

/** The failure of a submission or a turn in a chat; a turn that a submission began is told of with its reply. */
function failureIn(event: Event): Failure | undefined {
  if (event.type === "turn.end" && "submission" in event) return undefined;
  return event.type === "reply" || event.type === "rejected" || event.type === "turn.end" ? event.error : undefined;
}

type Failure = Pick<NonNullable<EventOf<"end">["error"]>, "message" | "retry_at">;

const silent = [
  "usage",
  "question",
  "question.end",
  "elicitation.request",
  "elicitation.decision",
  "approval.request",
  "approval.decision",
  "accepted",
  "rejected",
  "reply",
] as const;
type Silent = (typeof silent)[number];

/** True for events that are for programs. */
function isSilent(event: Event): event is EventOf<Silent> {
  return (silent as readonly string[]).includes(event.type);
}

class Progress {
  readonly #screen: Screen;
  readonly #lines: LineWriter;
  readonly #paint: Paint;
  readonly #options: ProgressOptions;
  readonly #calls: CallLines;
  readonly #agents: AgentLines;
  readonly #commentary: Commentary;
  /** The to-do list as it was last shown: text and status. */
  #todo = new Map<string, string>();
  readonly #shownEgress = new Set<string>();
  #isReconnecting = false;
  /** True when the turn was complete, even if its answer failed later. */
  #isComplete = false;
  /** The failure that was told last. */
  #told = "";

  constructor(screen: Screen, lines: LineWriter, paint: Paint, options: ProgressOptions) {
    this.#screen = screen;
    this.#lines = lines;
    this.#paint = paint;
    this.#options = options;
    this.#commentary = new Commentary(options.hasSchema ?? false);
    this.#calls = new CallLines(lines, { ...options, paint });
    this.#agents = new AgentLines(lines, { ...options, paint });
  }

  /** Pieces of text are many and show nothing, so they cost no promise. */
  write(event: Event): Promise<void> | undefined {
    if (event.type !== "text.delta") {
      if (!isSilent(event)) return this.#show(event);
      const failure = this.#options.isChat === true ? failureIn(event) : undefined;
      return failure && this.#fail(failure);
    }
    this.#commentary.add(event.text);
    return this.#isReconnecting ? this.#wait(newActivity("thinking")) : undefined;
  }

  async #show(event: Exclude<Event, { type: "text.delta" | Silent }>): Promise<void> {
    switch (event.type) {
      case "session.start":
        return await this.#start(event);
      case "turn.start":
        this.#told = "";
        return await this.#wait(newActivity("thinking"));
      case "turn.end":
        this.#isComplete = event.reason === "complete";
        return this.#options.isChat === true ? await this.#endTurn(event) : undefined;
      case "text.done":
        return this.#commentary.close(event.text);
      case "thinking.delta":
        return await this.#think(event.text);
      case "tool.start":
        await this.#showCommentary(this.#commentary.beforeCall());
        await this.#calls.start(event);
        return await this.#wait(this.#calls.activity);
      case "tool.output":
        return await this.#calls.output(event);
      case "tool.end":
        await this.#calls.end(event);
        return await this.#wait(this.#calls.activity ?? newActivity("thinking"));
      case "verify.start":
      case "shell.start":
        await this.#calls.start(commandStart(event));
        return await this.#wait(this.#calls.activity);
      case "verify.output":
      case "shell.output":
        return await this.#calls.output(commandOutput(event));
      case "verify.end":
      case "shell.end":
        await this.#calls.end(commandEnd(event));
        return await this.#wait(event.type === "verify.end" ? newActivity("thinking") : this.#calls.activity);
      case "retry":
        await this.#showCommentary(this.#commentary.afterRetry());
        return await this.#retry(event);
      case "compact":
        return await this.#lines.line(this.#paint.dim(compactLine(event)));
      case "diff":
        return await this.#files(event);
      case "todo":
        return await this.#todoChanges(event);
      case "egress":
        return await this.#egress(event);
      case "notice":
        return await this.#lines.line(noticeLine(event.level, event.message, this.#paint));
      case "agent":
        return await this.#agents.show(event);
      case "end":
        return await this.#end(event);
      default:
        event satisfies never;
    }
  }

  async #start(event: EventOf<"session.start">): Promise<void> {
    await this.#lines.line(banner(event, this.#paint));
    // Without a sandbox the notes are warnings; the notes of a real one are details.
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
    if (text !== "") await this.#lines.line(this.#paint.dim(`  ${name}: ${inline(text)}`));
  }

  async #think(text: string): Promise<void> {
    if (this.#isReconnecting) await this.#wait(newActivity("thinking"));
    if (!this.#options.verbose) return;
    await this.#lines.piece("thinking", text, { margin: "  ", paint: this.#paint.dim });
  }

  async #showCommentary(text: string): Promise<void> {
    if (text !== "" && !this.#options.textIsShown) await this.#lines.line(visible(text));
  }

  async #retry(event: EventOf<"retry">): Promise<void> {
    await this.#lines.line(retryLine(event, this.#paint));
    await this.#wait(newActivity(event.delay_ms > longWait ? "waiting for the limit to reset" : "reconnecting"));
    this.#isReconnecting = true;
  }

  async #files({ files }: EventOf<"diff">): Promise<void> {
    const letters = { add: "A", update: "M", delete: "D" } as const;
    for (const { path, kind, added, removed } of files.slice(0, mostFiles)) {
      const size = added === null ? "" : ` ${this.#paint.green(`+${added}`)} ${this.#paint.red(`-${removed ?? 0}`)}`;
      await this.#lines.line(`  ${letters[kind]} ${inline(path)}${size}`);
    }
    if (files.length > mostFiles) await this.#lines.line(this.#paint.dim(`  … and ${files.length - mostFiles} more`));
  }

  /** The event has the whole list; only new and changed items are shown. */
  async #todoChanges({ items }: EventOf<"todo">): Promise<void> {
    const marks = { pending: "☐", in_progress: "▸", done: "☑" } as const;
    for (const { text, status } of items)
      if (this.#todo.get(text) !== status) await this.#lines.line(`  ${marks[status]} ${inline(text)}`);
    this.#todo = new Map(items.map(({ text, status }) => [text, status]));
  }

  /** Each refusal once: a client that fails tries again and again. */
  async #egress(event: EventOf<"egress">): Promise<void> {
    const line = describeEgress(event);
    if (!this.#options.verbose && (event.verdict === "allowed" || this.#shownEgress.has(line))) return;
    this.#shownEgress.add(line);
    if (event.verdict === "allowed") await this.#lines.line(this.#paint.dim(`  ${inline(line)}`));
    else await this.#lines.line(noticeLine("warn", line, this.#paint));
  }

  /** Several submissions may fail with one turn. */
  async #fail(failure: Failure): Promise<void> {
    await this.#wait(undefined);
    const line = errorLine(failure, this.#paint);
    if (line !== this.#told) await this.#lines.line(line);
    this.#told = line;
  }

  async #endTurn(event: EventOf<"turn.end">): Promise<void> {
    await this.#wait(undefined);
    const failure = failureIn(event);
    if (failure !== undefined) await this.#fail(failure);
    await this.#showCommentary(this.#commentary.afterTurn(this.#isComplete));
  }

  async #wait(activity: Activity | undefined): Promise<void> {
    this.#isReconnecting = false;
    await this.#screen.wait(activity);
  }

  async #end(event: EventOf<"end">): Promise<void> {
    await this.#wait(undefined);
    await this.#showCommentary(this.#commentary.atEnd(event));
    if (event.error) await this.#fail(event.error);
    else if (event.incomplete) await this.#lines.line(noticeLine("warn", doubt(event.incomplete), this.#paint));
    if (event.session === null) return;
    for (const { name, error } of event.mcp ?? []) {
      const message = `The MCP server "${name}" was never connected${error === undefined ? "" : `: ${error}`}`;
      await this.#lines.line(noticeLine("warn", message, this.#paint));
    }
    const executable = executableLine(event);
    if (executable !== undefined) await this.#lines.line(noticeLine("warn", executable, this.#paint));
    await this.#lines.line(summary(event, this.#paint));
    if (event.resume === null) return;
    // Continuing a complete turn needs a prompt.
    const needsPrompt = this.#isComplete && this.#options.isChat !== true;
    const line = needsPrompt ? `${event.resume} "…"` : event.resume;
    await this.#lines.line(this.#paint.dim(`  to continue: ${line}`));
  }
}

function compactLine({ kind, before_tokens: before, after_tokens: after }: EventOf<"compact">): string {
  const what = kind === "full" ? "Compacted the conversation" : "Left out old results";
  return `· ${what}: ${withCommas(before)} → ${withCommas(after)} tokens`;
}

function doubt(reasons: readonly string[]): string {
  return `The task may not be finished: ${reasons.join("; ")}`;
}

function newActivity(verb: string): Activity {
  return { verb, what: "", since: performance.now() };
}

function noticeLine(level: EventOf<"notice">["level"], message: string, paint: Paint): string {
  const marks = { info: paint.dim("·"), warn: paint.yellow("!"), error: paint.red("✗") } as const;
  return `${marks[level]} ${visibleLine(message)}`;
}
