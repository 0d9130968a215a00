import { formatElapsed } from "../config/units.ts";
import type { EventOf } from "../engine/event.ts";
import { summaryOfInput } from "../session/callsummary.ts";
import { OutputExcerpt } from "./excerpt.ts";
import type { LineWriter } from "./lines.ts";
import type { Activity } from "./screen.ts";
import type { SinkOptions } from "./sink.ts";
import { inline, oneLine, type Paint, plain } from "./style.ts";

type CallOptions = Pick<SinkOptions, "verbose" | "columns" | "stderrIsTerminal"> & { paint: Paint };

/** The most live output of a call on a terminal; all of it is stored, and --verbose shows it. */
const mostLiveOutput = 256 * 1024;

type Call = {
  title: string;
  since: number;
  isAnnounced: boolean;
  shown: number;
  /** Only in a log, and not with --verbose. */
  excerpt: OutputExcerpt | undefined;
};

/** The running calls as lines: each call, its output, its result. */
export class CallLines {
  readonly #lines: LineWriter;
  readonly #options: CallOptions;
  readonly #running = new Map<string, Call>();
  /** The call that the last line is about, whose title need not be repeated. */
  #latest: string | undefined;

  constructor(lines: LineWriter, options: CallOptions) {
    this.#lines = lines;
    this.#options = options;
  }

  /** The latest of the running calls. */
  get activity(): Activity | undefined {
    const call = [...this.#running.values()].at(-1);
    if (call === undefined) return undefined;
    const others = this.#running.size - 1;
    return { verb: "running", what: others === 0 ? call.title : `${call.title} and ${others} more`, since: call.since };
  }

  async start({ id, tool, input, effect }: EventOf<"tool.start">): Promise<void> {
    const { columns, verbose, paint, stderrIsTerminal } = this.#options;
    const words = oneLine(summaryOfInput(input), columns() - tool.length - 3);
    const call: Call = {
      title: `${paint.bold(inline(tool))} ${words}`.trimEnd(),
      since: performance.now(),
      isAnnounced: false,
      shown: 0,
      excerpt: stderrIsTerminal || verbose ? undefined : new OutputExcerpt(),
    };
    this.#running.set(id, call);
    // A read takes a moment and gets one line, when it has ended; a command may take long.
    if (effect !== "read" || tool === "Bash" || verbose) await this.#announce(id, call);
    if (verbose) await this.#write(id, `${JSON.stringify(input, null, 2) ?? ""}\n`);
  }

  async output({ id, text }: EventOf<"tool.output">): Promise<void> {
    const call = this.#running.get(id);
    if (call === undefined) return;
    if (!call.isAnnounced) await this.#announce(id, call);
    if (call.excerpt !== undefined) return await this.#write(id, call.excerpt.add(text));
    if (call.shown > mostLiveOutput && !this.#options.verbose) return;
    call.shown += text.length;
    await this.#write(id, text);
    if (call.shown > mostLiveOutput && !this.#options.verbose)
      await this.#write(id, "\n… more output is not shown (-v shows all)\n");
  }

  async end(event: EventOf<"tool.end">): Promise<void> {
    const { columns, paint } = this.#options;
    const call = this.#running.get(event.id);
    if (call?.excerpt !== undefined) await this.#write(event.id, call.excerpt.end());
    this.#running.delete(event.id);
    const { title, isAnnounced } = call ?? { title: paint.bold(inline(event.tool)), isAnnounced: false };
    const mark = event.ok ? paint.green("✓") : paint.red("✗");
    const result = `${mark} ${paint.dim(describeEnd(event, columns()))}`;
    if (!isAnnounced) await this.#lines.line(`${paint.cyan("●")} ${title} ${result}`);
    else await this.#lines.line(this.#latest === event.id ? `  ${result}` : `  ${title} ${result}`);
    this.#latest = undefined;
    if (event.hint !== undefined) await this.#lines.line(paint.dim(`    ${plain(event.hint)}`));
  }

  async #announce(id: string, call: Call): Promise<void> {
    call.isAnnounced = true;
    this.#latest = id;
    await this.#lines.line(`${this.#options.paint.cyan("●")} ${call.title}`);
  }

  async #write(id: string, text: string): Promise<void> {
    if (text === "") return;
    // Output of parallel calls is mixed, so each change of call is announced.
    const call = this.#running.get(id);
    if (this.#latest !== id && call !== undefined) await this.#lines.line(`  ${call.title}:`);
    this.#latest = id;
    await this.#lines.piece(id, text, { margin: "    ", paint: this.#options.paint.dim });
  }
}

/** The result of a call and its duration: `exit 1 · 0.4 s`. */
export function describeEnd(end: EventOf<"tool.end">, columns: number): string {
  const time = formatElapsed(end.duration_ms);
  if (end.ok) return time;
  if (end.denied !== undefined) return `denied: ${oneLine(end.denied, columns - 10)}`;
  if (end.timed_out) return `timed out · ${time}`;
  if (end.signal !== undefined) return `killed by ${plain(end.signal)} · ${time}`;
  if (end.exit_code !== undefined) return `exit ${end.exit_code} · ${time}`;
  return `${oneLine(end.summary, columns - 12)} · ${time}`;
}
