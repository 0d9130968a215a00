import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Wire, wires } from "../../lib/config/config.ts";
import { type Aimock, type MockFaults, startAimock } from "../support/aimock.ts";
import { binary, checkLines, using } from "../support/koda.ts";
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

/** KODA_SEQUENCES=300 makes as many runs in all, and KODA_SEED other ones. */
const each = Math.ceil(Number(process.env.KODA_SEQUENCES ?? 18) / faults.length);
const seed = Number(process.env.KODA_SEED ?? 1);
/** In seconds. */
const longest = 60;

describe("against an independent mock, a success is the whole task and a failure says so", () => {
  for (const [index, [name, made]] of faults.entries())
    test.concurrent(
      name,
      async () => {
        await using mock = await startAimock(seed + index, made);
        let retries = 0;
        for (let run = 1; run <= each; run++)
          retries += await retriesOf(mock, wires[run % wires.length] ?? "chat", run);
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

  const which = `run ${run} over ${wire}`;
  if (end.status === "done") {
    const { text, tools, exit } = end;
    const texts = events.flatMap((event) => (event.type === "text.done" ? [event.text] : []));
    expect({ note, text, texts, tools, exit }, which).toEqual(wholeTask(run));
  } else {
    expect(end, which).toMatchObject({ status: "failed", exit: 9, error: { retryable: true } });
    expect(["unavailable", "network", "stream"], which).toContain(end.error?.code ?? "");
    expect(["", `note ${run}\n`, `note ${run}\nkept\n`], which).toContain(note);
  }
  expect(processesNaming(place.project), which).toEqual([]);
  return events.filter(({ type }) => type === "retry").length;
}

/** Nothing of a reply that broke off was done, or is told as a part of an answer. */
function wholeTask(run: number) {
  const text = `Note ${run} is written, and it has been kept.`;
  const tools = { ok: 3, failed: 0, denied: 0 };
  return { note: `note ${run}\nkept\n`, text, texts: ["I look at it.", text], tools, exit: 0 };
}
