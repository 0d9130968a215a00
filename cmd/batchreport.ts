import { againAt, type FleetEvent } from "../lib/fleet/events.ts";
import type { BatchOverview } from "../lib/fleet/store/overview.ts";
import { OutputStream } from "../lib/sink/output.ts";
import { inline } from "../lib/sink/style.ts";
import { LiveLine } from "./batchline.ts";
import { shownEnd, tabbedEnd, type SettledEvent } from "./batchsettlements.ts";
import { messageLines, printNote } from "./note.ts";
import { isOneStream } from "./stdio.ts";
import { isTerminal } from "./terminal.ts";

/** The form of stdout in a pipe or a file: a tabbed line for each settled task, or events. */
type PipeStyle = "tabs" | "json";

/** A batch on stdout, as lines or events, and on stderr for people. */
export class BatchReport {
  readonly #stdout = new OutputStream(1, "stdout");
  readonly #live: LiveLine;
  readonly #style: PipeStyle | "people";
  /** Once is enough where both streams lead to the same place. */
  readonly #isOneStream = isOneStream();
  readonly #stop: AbortController;
  #isBroken = false;

  private constructor(live: LiveLine, { style, stop }: { style: PipeStyle | "people"; stop: AbortController }) {
    this.#live = live;
    this.#style = style;
    this.#stop = stop;
  }

  /** A stdout that fails stops the command, which still says on stderr how it ended. */
  static async open({ json, pipe }: { json: boolean; pipe: PipeStyle }, stop: AbortController): Promise<BatchReport> {
    const style = json ? "json" : (await isTerminal(1)) ? "people" : pipe;
    return new BatchReport(await LiveLine.open(), { style, stop });
  }

  get isLive(): boolean {
    return this.#live.isLive;
  }

  /** stdout is a terminal. */
  get isForPeople(): boolean {
    return this.#style === "people";
  }

  async show(overview: BatchOverview): Promise<void> {
    await this.#live.show(overview);
  }

  async event(event: FleetEvent): Promise<void> {
    if (event.type === "task.end") await this.#settled(event);
    else if (this.#style === "json") await this.#print(`${JSON.stringify(event)}\n`);
    else await this.#note(event);
  }

  async lines(lines: readonly string[]): Promise<void> {
    await this.#live.clear();
    await printNote(...lines);
  }

  async finish(): Promise<void> {
    await this.#live.clear();
    await this.#unlessBroken(() => this.#stdout.flush());
  }

  async #settled(event: SettledEvent): Promise<void> {
    await this.#print(this.#lineOf(event));
    if (!this.#live.isLive && !this.#isOneStream) await printNote(shownEnd(event));
  }

  #lineOf(event: SettledEvent): string {
    switch (this.#style) {
      case "json":
        return `${JSON.stringify(event)}\n`;
      case "tabs":
        return tabbedEnd(event);
      case "people":
        return `${shownEnd(event)}\n`;
      default:
        return this.#style satisfies never;
    }
  }

  async #note(event: Exclude<FleetEvent, SettledEvent>): Promise<void> {
    const lines = noteOf(event);
    if (lines.length > 0) await this.lines(lines);
  }

  async #print(text: string): Promise<void> {
    await this.#live.clear();
    await this.#unlessBroken(async () => {
      await this.#stdout.write(text);
      // The order of both streams is that of the events.
      if (this.#live.isLive) await this.#stdout.flush();
    });
  }

  async #unlessBroken(write: () => Promise<void>): Promise<void> {
    if (this.#isBroken) return;
    try {
      await write();
    } catch (error) {
      this.#isBroken = true;
      this.#stop.abort(error);
    }
  }
}

function noteOf(event: Exclude<FleetEvent, SettledEvent>): string[] {
  switch (event.type) {
    case "task.retry":
      return [`retry  ${event.key}: ${inline(event.error?.message ?? `exit ${event.exit}`)} (${againAt(event)})`];
    case "task.note":
      return [`note  ${event.key}: ${inline(event.message)}`];
    case "worker.note":
      return messageLines(`koda: ${event.message}`);
    case "worker.stop":
      return event.exit === undefined ? [] : messageLines(`koda: starting no more tasks: ${event.why}`);
    case "task.superseded":
      return [`note  ${event.key}: another worker has taken over the task, so this attempt does not count`];
    case "batch.start":
    case "batch.end":
    case "task.start":
    case "task.returned":
      return [];
    default:
      return event satisfies never;
  }
}

export function batchEnd({ id, counts, spent }: BatchOverview, exit: number): FleetEvent {
  const { done, failed, limit, poison, cancelled, skipped } = counts;
  const settled = { done, failed, limit, poison, cancelled, skipped };
  const cost = spent.isUnpriced === true ? {} : { cost_usd: spent.costUsd };
  return { type: "batch.end", batch: id, counts: settled, ...cost, tokens: spent.tokens, exit };
}
