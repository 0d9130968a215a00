import { expect } from "bun:test";
import { type ResultRow, resultRowSchema } from "../../lib/fleet/results/row.ts";
import { fleetEventSchema } from "../../lib/fleet/events.ts";
import { koda, using } from "./koda.ts";
import { type Entry, say } from "./model-reply.ts";
import type { ModelRequestSeen, ModelServer, Script } from "./model-server.ts";
import type { Place } from "./place.ts";
import type { Ran } from "./run.ts";

export type Row = { key: string; [field: string]: unknown };

export const listOf = (rows: readonly Row[]) =>
  rows.map((row) => `${JSON.stringify({ prompt: `Do task=${row.key}.`, ...row })}\n`).join("");

/** The words of a task are its prompt: that is how a script knows which task asks. */
export const keyOf = ({ raw }: ModelRequestSeen) => /Do task=(\w+)\./.exec(raw)?.[1] ?? "";

/** A model that says the same to each task, whatever the order. */
export const byKey =
  (replies: Readonly<Record<string, Entry>>): Script =>
  (request) =>
    replies[keyOf(request)] ?? say("Done.");

export async function runBatch(
  place: Place,
  server: Pick<ModelServer, "url">,
  rows: readonly Row[],
  flags: readonly string[] = [],
) {
  place.write("tasks.jsonl", listOf(rows));
  return await koda(place, ["batch", "run", "tasks.jsonl", ...using(server), ...flags]);
}

/** `key outcome` of each line. */
export const outcomesIn = ({ stdout }: Ran) =>
  Object.fromEntries(
    stdout
      .trimEnd()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split("\t", 2)),
  ) as Record<string, string>;

export const eventsIn = ({ stdout }: Pick<Ran, "stdout">) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => fleetEventSchema.parse(JSON.parse(line)));

export const idIn = ({ stderr }: Pick<Ran, "stderr">) => /koda: batch (\S{12}), /.exec(stderr)?.[1] ?? "";

export async function rowsOf(place: Place, id: string): Promise<ResultRow[]> {
  const { stdout } = await koda(place, ["batch", "results", id]);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => resultRowSchema.parse(JSON.parse(line)));
}

export async function statusOf(place: Place, id: string) {
  const { stdout, stderr } = await koda(place, ["batch", "status", id, "--json"]);
  expect(stderr).toBe("");
  const status = JSON.parse(stdout) as { total: number; counts: Record<string, number>; state: string };
  const sum = Object.values(status.counts).reduce((one, other) => one + other, 0);
  expect(sum, "the counts add up to the number of tasks").toBe(status.total);
  return status;
}
