import { expect, test } from "bun:test";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { demoCassette, demoProvider, assertNoDemoDirectory } from "../../lib/model/demo.ts";
import type { ModelEvent } from "../../lib/model/model.ts";
import { replayFrom } from "../../lib/model/replay.ts";
import { connectTo, converse, hello } from "../support/model-connection.ts";
import { makePlace } from "../support/place.ts";
import { demoCassette as written, demoReplies } from "../support/record-demo.ts";

async function replies(cwd: string): Promise<ModelEvent[][]> {
  const fetch = replayFrom(demoCassette(), { cwd, loose: true });
  const model = connectTo(demoProvider.baseUrl, demoProvider.wire, { fetch });
  const all: ModelEvent[][] = [];
  for (const _ of demoReplies) all.push(await converse(model, hello));
  return all;
}

const textOf = (events: readonly ModelEvent[]) =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

test("the demo says that it is scripted, first and last, and claims no usage", async () => {
  const all = await replies("/nowhere");
  expect(textOf(all[0] ?? [])).toContain("scripted demo");
  expect(textOf(all.at(-1) ?? [])).toStartWith("Scripted demo:");
  for (const events of all) expect(events.at(-1)).toMatchObject({ usage: { input: null, output: null } });
});

test("the demo does not start where its directory is, whatever that is", async () => {
  await using place = makePlace();
  expect(() => assertNoDemoDirectory(place.project)).not.toThrow();
  symlinkSync("nowhere", join(place.project, "koda-demo"));
  expect(() => assertNoDemoDirectory(place.project)).toThrow(expect.objectContaining({ code: "usage" }));
});

test("the embedded cassette is what its script writes", () => {
  const file = join(import.meta.dir, "../../lib/model/demo.jsonl");
  expect(readFileSync(file, "utf8")).toBe(written());
});
