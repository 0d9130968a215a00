import type { EventOf } from "../engine/event.ts";
import { describeEnd, describeInput } from "./call.ts";
import { Excerpt } from "./excerpt.ts";
import type { Lines } from "./lines.ts";
import type { Busy } from "./screen.ts";
import { named, plain, type Paint } from "./style.ts";

export type CallOptions = {
  verbose: boolean;
  paint: Paint;
  /** How wide a line may be. */
  columns: () => number;
  stderrIsTerminal: boolean;
};

/** On a terminal a call's live output goes up to here; the whole is stored, and --verbose shows it. */
const mostLiveOutput = 256 * 1024;

type Call = {
  title: string;
  since: number;
  isAnnounced: boolean;
  shown: number;
  /** Only in a log, and not with --verbose. */
  excerpt: Excerpt | undefined;
};

/** The calls that run, as lines: what is called, what it prints, how it ended. */
export class Calls {
  readonly #lines: Lines;
  readonly #options: CallOptions;
  readonly #running = new Map<string, Call>();
  /** The call that the last line is about: what follows it needs no name. */
  #latest: string | undefined;

  constructor(lines: Lines, options: CallOptions) {
    this.#lines = lines;
    this.#options = options;
  }

  /** The call that was started last, of those still running. */
  get busy(): Busy | undefined {
    const call = [...this.#running.values()].at(-1);
    if (call === undefined) return undefined;
    const others = this.#running.size - 1;
    return { verb: "running", what: others === 0 ? call.title : `${call.title} and ${others} more`, since: call.since };
  }

  async start({ id, tool, input, effect }: EventOf<"tool.start">): Promise<void> {
    const { columns, verbose, paint, stderrIsTerminal } = this.#options;
    const words = describeInput(input, columns() - tool.length - 3);
    const call: Call = {
      title: `${paint.bold(named(tool))} ${words}`.trimEnd(),
      since: performance.now(),
      isAnnounced: false,
      shown: 0,
      excerpt: stderrIsTerminal || verbose ? undefined : new Excerpt(),
    };
    this.#running.set(id, call);
    // A read is over in a moment and gets one line, when it has ended. A command takes as long as it likes.
    if (effect !== "read" || tool === "Bash" || verbose) await this.#announce(id, call);
    if (verbose) await this.#say(id, `${JSON.stringify(input, null, 2) ?? ""}\n`);
  }

  async output({ id, text }: EventOf<"tool.output">): Promise<void> {
    const call = this.#running.get(id);
    if (call === undefined) return;
    if (!call.isAnnounced) await this.#announce(id, call);
    if (call.excerpt !== undefined) return await this.#say(id, call.excerpt.add(text));
    if (call.shown > mostLiveOutput && !this.#options.verbose) return;
    call.shown += text.length;
    await this.#say(id, text);
    if (call.shown > mostLiveOutput && !this.#options.verbose)
      await this.#say(id, "\n… more output is not shown (-v shows all)\n");
  }

  async end(event: EventOf<"tool.end">): Promise<void> {
    const { columns, paint } = this.#options;
    const call = this.#running.get(event.id);
    if (call?.excerpt !== undefined) await this.#say(event.id, call.excerpt.end());
    this.#running.delete(event.id);
    const { title, isAnnounced } = call ?? { title: paint.bold(named(event.tool)), isAnnounced: false };
    const mark = event.ok ? paint.green("✓") : paint.red("✗");
    await this.#close(event.id, { title, isAnnounced }, `${mark} ${paint.dim(describeEnd(event, columns()))}`);
    if (event.hint !== undefined) await this.#lines.line(paint.dim(`    ${plain(event.hint)}`));
  }

  async #close(id: string, { title, isAnnounced }: Pick<Call, "title" | "isAnnounced">, ending: string): Promise<void> {
    if (!isAnnounced) await this.#lines.line(`${this.#options.paint.cyan("●")} ${title} ${ending}`);
    else if (this.#latest === id) await this.#lines.line(`  ${ending}`);
    else await this.#lines.line(`  ${title} ${ending}`);
    this.#latest = undefined;
  }

  async #announce(id: string, call: Call): Promise<void> {
    call.isAnnounced = true;
    this.#latest = id;
    await this.#lines.line(`${this.#options.paint.cyan("●")} ${call.title}`);
  }

  async #say(id: string, text: string): Promise<void> {
    if (text === "") return;
    // Of calls that run together, each says its name when it takes over.
    const call = this.#running.get(id);
    if (this.#latest !== id && call !== undefined) await this.#lines.line(`  ${call.title}:`);
    this.#latest = id;
    await this.#lines.piece(id, text, { margin: "    ", paint: this.#options.paint.dim });
  }
}
