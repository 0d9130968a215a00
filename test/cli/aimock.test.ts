import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Wire, wires } from "../../lib/config/config.ts";
import { type Aimock, type MockFaults, startAimock } from "../support/aimock.ts";
import { binary, checkLines, type EndLine, type Line, using } from "../support/koda.ts";
import { makePlace } from "../support/place.ts";
import { runIn } from "../support/run.ts";
import { processesNaming } from "../support/shell.ts";

const fifth = 0.2;
const faults: readonly (readonly [string, MockFaults])[] = [
  ["no faults", {}],
  ["errors instead of replies", { dropRate: fifth }],
  ["bodies that are not JSON", { malformedRate: fifth }],
  ["connections that close before the reply", { disconnectRate: fifth }],
  ["connections that close in the middle of it", { cutRate: fifth }],
  ["all of these", { dropRate: fifth, malformedRate: fifth, disconnectRate: fifth, cutRate: fifth }],
];
const lanes = wires.flatMap((wire) => faults.map(([name, made]) => ({ wire, name, made })));

/** KODA_SEQUENCES=300 makes as many runs in all, and KODA_SEED other ones. */
const each = Math.ceil(Number(process.env.KODA_SEQUENCES ?? 2 * lanes.length) / lanes.length);
const seed = Number(process.env.KODA_SEED ?? 42);
/** In seconds. */
const longest = 60;

describe("against a mock by other hands, a success is the whole task and a failure says so", () => {
  for (const [index, { wire, name, made }] of lanes.entries())
    test.concurrent(
      `${wire}: ${name}`,
      async () => {
        await using mock = await startAimock(seed + index, made);
        let retries = 0;
        for (let run = 1; run <= each; run++) retries += await retriesOf(mock, wire, run);
        expect(retries > 0, "the mock made faults when it was asked to, and only then").toBe(name !== "no faults");
      },
      each * longest * 1000,
    );
});

/** One run of the task, with all that holds for each. */
async function retriesOf(mock: Aimock, wire: Wire, run: number): Promise<number> {
  await using place = makePlace();
  const argv = [binary, "exec", "--output", "jsonl", ...using(mock), "--wire", wire, `Write note ${run}.`];
  const ran = await runIn(place, ["timeout", "--signal=KILL", String(longest), ...argv]);
  const { events, end } = checkLines(ran);
  const path = join(place.project, "note.txt");
  const note = existsSync(path) ? readFileSync(path, "utf8") : "";

  if (end.status === "done") expectSuccess(run, { events, end, note });
  else expectFailure(run, { end, note });
  expect(processesNaming(place.project)).toEqual([]);
  return events.filter(({ type }) => type === "retry").length;
}

/** Nothing of a reply that broke off was done, or is told as a part of the answer. */
function expectSuccess(run: number, { events, end, note }: { events: Line[]; end: EndLine; note: string }): void {
  const answer = `Note ${run} is written, and it has been kept.`;
  expect({ note, text: end.text, exit: end.exit }).toEqual({ note: `note ${run}\nkept\n`, text: answer, exit: 0 });
  expect(events.flatMap((event) => (event.type === "text.done" ? [event.text] : []))).toEqual([
    "I look at it.",
    answer,
  ]);
  expect(end.tools).toEqual({ ok: 3, failed: 0, denied: 0 });
}

function expectFailure(run: number, { end, note }: { end: EndLine; note: string }): void {
  expect(end).toMatchObject({ status: "failed", exit: 9, error: { retryable: true } });
  expect(["unavailable", "network", "stream"]).toContain(end.error?.code ?? "");
  expect(["", `note ${run}\n`, `note ${run}\nkept\n`]).toContain(note);
}
