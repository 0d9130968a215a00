import { counted } from "../lib/counted.ts";
import type { FleetEvent } from "../lib/fleet/events.ts";
import { outcomes, type FleetStore, type TaskOutcome, type TaskResult } from "../lib/fleet/store.ts";
import { rowOf, type ResultRow } from "../lib/fleet/results/row.ts";
import { dollars, inline } from "../lib/sink/style.ts";

export type SettledEvent = Extract<FleetEvent, { type: "task.end" }>;

/** The tasks that are settled and have not been told of yet. A task that is retried is told of again. */
export class Settlements {
  readonly #store: Pick<FleetStore, "results">;
  readonly #batch: string;
  readonly #told = new Set<string>();

  constructor(store: Pick<FleetStore, "results">, batch: string) {
    this.#store = store;
    this.#batch = batch;
  }

  /** True the first time. */
  isNew({ key, attempts }: SettledEvent): boolean {
    const name = `${key} ${attempts}`;
    if (this.#told.has(name)) return false;
    this.#told.add(name);
    return true;
  }

  /** Those that are settled by now are not told of. Returns the labels of all tasks. */
  async skip(): Promise<ReadonlySet<string>> {
    const labels = new Set<string>();
    for await (const result of this.#store.results(this.#batch)) {
      this.#take(result);
      for (const label of result.task.labels) labels.add(label);
    }
    return labels;
  }

  async *fresh(): AsyncGenerator<SettledEvent, void> {
    for await (const result of this.#store.results(this.#batch)) {
      const end = this.#take(result);
      if (end !== undefined) yield end;
    }
  }

  #take(result: TaskResult): SettledEvent | undefined {
    const end = endOf(this.#batch, rowOf(result));
    return end !== undefined && this.isNew(end) ? end : undefined;
  }
}

function endOf(batch: string, row: ResultRow): SettledEvent | undefined {
  const {
    key,
    outcome,
    exit,
    error,
    cost_usd: cost,
    tokens,
    duration_ms: duration = 0,
    attempts,
    branch,
    commit,
  } = row;
  if (!isOutcome(outcome)) return undefined;
  return {
    type: "task.end",
    batch,
    key,
    outcome,
    ...(cost !== null && { cost_usd: cost }),
    tokens,
    duration_ms: duration,
    attempts: attempts.length,
    ...(exit !== undefined && { exit }),
    ...(error !== undefined && { error }),
    ...(branch !== undefined && commit !== undefined && { published: { branch, commit } }),
  };
}

function isOutcome(state: string): state is TaskOutcome {
  return outcomes.some((outcome) => outcome === state);
}

/** For scripts: key, outcome, exit code, cost, seconds and error, between tabs. */
export function tabbedEnd({ key, outcome, exit, cost_usd: cost, duration_ms: ms, error }: SettledEvent): string {
  const cells = [
    key,
    outcome,
    exit ?? "",
    cost?.toFixed(6) ?? "",
    (ms / 1_000).toFixed(1),
    inline(error?.message ?? ""),
  ];
  return `${cells.join("\t")}\n`;
}

/** For people: `failed  a: The model … ($0.02, exit 3)`. */
export function shownEnd({ key, outcome, exit, cost_usd: cost, tokens, error }: SettledEvent): string {
  const why = error === undefined ? "" : `: ${inline(error.message)}`;
  const spent = cost === undefined ? counted(tokens, "token") : dollars(cost);
  return `${outcome}  ${key}${why} (${spent}${exit === undefined || exit === 0 ? "" : `, exit ${exit}`})`;
}
