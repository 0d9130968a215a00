import { formatElapsed } from "../config/units.ts";
import type { AgentEvent, EventOf } from "../engine/event.ts";
import { summaryOfInput } from "../session/callsummary.ts";
import { visibleLine } from "../visible.ts";
import { describeEnd } from "./calls.ts";
import { describeEgress } from "./egress.ts";
import type { LineWriter } from "./lines.ts";
import { inline, oneLine, type Paint } from "./style.ts";
import { retryLine, tokens } from "./summary.ts";

type AgentOptions = { paint: Paint; columns: () => number };

/** The agents of a run: each line says whose it is, and each call is one line, when it has ended. */
export class AgentLines {
  readonly #lines: LineWriter;
  readonly #options: AgentOptions;
  /** The running calls by agent and id, as they are shown. */
  readonly #calls = new Map<string, string>();
  readonly #shownEgress = new Set<string>();

  constructor(lines: LineWriter, options: AgentOptions) {
    this.#lines = lines;
    this.#options = options;
  }

  async show({ agent: { id, name }, event }: EventOf<"agent">): Promise<void> {
    const prefix = `${id} ${inline(name)}`;
    const line = this.#lineOf(event, id, this.#options.columns() - prefix.length - 3);
    if (line !== undefined) await this.#lines.line(`${this.#options.paint.cyan(`[${prefix}]`)} ${line}`);
  }

  #lineOf(event: AgentEvent, agent: string, columns: number): string | undefined {
    const { paint } = this.#options;
    switch (event.type) {
      case "session.start":
        return oneLine(event.title, columns);
      case "tool.start": {
        const words = oneLine(summaryOfInput(event.input), columns - event.tool.length - resultColumns);
        this.#calls.set(`${agent} ${event.id}`, `${paint.bold(inline(event.tool))} ${words}`.trimEnd());
        return undefined;
      }
      case "tool.end": {
        const key = `${agent} ${event.id}`;
        const title = this.#calls.get(key) ?? paint.bold(inline(event.tool));
        this.#calls.delete(key);
        const mark = event.ok ? paint.green("✓") : paint.red("✗");
        return `${title} ${mark} ${paint.dim(describeEnd(event, columns))}`;
      }
      case "retry":
        return retryLine(event, paint);
      case "notice":
        return event.level === "info" ? undefined : `${paint.yellow("!")} ${visibleLine(event.message)}`;
      case "egress":
        return this.#refusalOf(event, agent);
      case "end":
        return this.#endOf(event);
      default:
        return undefined;
    }
  }

  /** Each once: a client that fails tries again and again. */
  #refusalOf(event: EventOf<"egress">, agent: string): string | undefined {
    const line = describeEgress(event);
    if (event.verdict === "allowed" || this.#shownEgress.has(`${agent} ${line}`)) return undefined;
    this.#shownEgress.add(`${agent} ${line}`);
    return `${this.#options.paint.yellow("!")} ${visibleLine(line)}`;
  }

  #endOf({ status, error, usage, duration_ms: durationMs }: Extract<AgentEvent, { type: "end" }>): string {
    const { paint } = this.#options;
    const figures = [formatElapsed(durationMs), tokens(usage)].filter((figure) => figure !== "");
    const why = error === undefined ? "" : `: ${visibleLine(error.message.replace(/\s*\n\s*/g, " ⏎ "))}`;
    const mark = status === "done" ? paint.green("✓ done") : paint.red(`✗ ${status}${why}`);
    return `${mark} ${paint.dim(`· ${figures.join(" · ")}`)}`;
  }
}

/** For the result of a call, after its title. */
const resultColumns = 12;
