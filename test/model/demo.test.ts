import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { demoCassette, demoProvider, assertNoDemoDirectory } from "../../lib/model/demo.ts";
import type { CallPart } from "../../lib/model/message.ts";
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
const callsIn = (events: readonly ModelEvent[]) =>
  events.flatMap((event) => (event.type === "call" ? [event.call] : []));

/** Does what a call asks for, as plainly as it can be done. */
function perform({ tool, arguments: text }: CallPart, cwd: string): { exitCode: number } {
  const input = JSON.parse(text);
  const path = join(cwd, input.path ?? "");
  switch (tool) {
    case "Write":
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, input.content);
      return { exitCode: 0 };
    case "Read":
      return { exitCode: existsSync(path) ? 0 : 1 };
    case "Edit": {
      const before = readFileSync(path, "utf8");
      const [{ old, new: now }] = input.edits;
      expect(before.split(old)).toHaveLength(2);
      writeFileSync(
        path,
        before.replace(old, () => now),
      );
      return { exitCode: 0 };
    }
    case "Bash":
      return { exitCode: Bun.spawnSync(["sh", "-c", input.command], { cwd, stdin: "ignore" }).exitCode };
    default:
      throw new Error(`The demo calls "${tool}"`);
  }
}

test("the demo's test fails before its repair and passes after it, and only its own directory is touched", async () => {
  await using place = makePlace();
  const calls = (await replies(place.project)).flatMap(callsIn);
  const done = calls.map((call) => ({ tool: call.tool, ...perform(call, place.project) }));
  expect(done.filter(({ tool }) => tool === "Bash").map(({ exitCode }) => exitCode)).toEqual([1, 0]);
  expect(done.map(({ tool }) => tool)).toEqual(["Write", "Write", "Bash", "Read", "Edit", "Bash"]);
  const own = calls.filter((call) => call.tool !== "Bash").map((call) => JSON.parse(call.arguments).path);
  for (const path of own) expect(path).toMatch(/^koda-demo\/[a-z]+\.sh$/);
});

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
