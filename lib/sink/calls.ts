import type { EventOf } from "../engine/event.ts";
import { describeEnd, describeInput } from "./call.ts";
import type { Lines } from "./lines.ts";
import { plain, type Paint } from "./style.ts";

export type CallOptions = {
  verbose: boolean;
  paint: Paint;
  /** How wide a line may be. */
  columns: number;
};

/** Live output of one call goes to people up to here; the whole is stored, and --verbose shows it. */
const mostLiveOutput = 256 * 1024;

type Call = { title: string; isAnnounced: boolean; shown: number };

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

  /** What to call the one that was started last, of those still running. */
  get latest(): string | undefined {
    return [...this.#running.values()].at(-1)?.title;
  }

  async start({ id, tool, input, effect }: EventOf<"tool.start">): Promise<void> {
    const { columns, verbose, paint } = this.#options;
    const words = describeInput(input, columns - tool.length - 3);
    const call = { title: `${paint.bold(tool)} ${words}`.trimEnd(), isAnnounced: false, shown: 0 };
    this.#running.set(id, call);
    // A read is over in a moment and gets one line, when it has ended.
    if (effect !== "read" || verbose) await this.#announce(id, call);
    if (verbose) await this.#say(id, `${JSON.stringify(input, null, 2) ?? ""}\n`);
  }

  async output({ id, text }: EventOf<"tool.output">): Promise<void> {
    const call = this.#running.get(id);
    if (call === undefined) return;
    if (!call.isAnnounced) await this.#announce(id, call);
    if (call.shown > mostLiveOutput && !this.#options.verbose) return;
    call.shown += text.length;
    await this.#say(id, text);
    if (call.shown > mostLiveOutput && !this.#options.verbose)
      await this.#say(id, "\n… more output is not shown (-v shows all)\n");
  }

  async end(event: EventOf<"tool.end">): Promise<void> {
    const { columns, paint } = this.#options;
    const call = this.#running.get(event.id) ?? { title: paint.bold(event.tool), isAnnounced: false };
    const mark = event.ok ? paint.green("✓") : paint.red("✗");
    await this.#close(event.id, call, `${mark} ${paint.dim(describeEnd(event, columns))}`);
    if (event.hint !== undefined) await this.#lines.line(paint.dim(`    ${plain(event.hint)}`));
  }

  async #close(id: string, { title, isAnnounced }: Pick<Call, "title" | "isAnnounced">, ending: string): Promise<void> {
    this.#running.delete(id);
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
    this.#latest = id;
    await this.#lines.piece(id, text, { margin: "    ", paint: this.#options.paint.dim });
  }
}
