import { expect, test } from "bun:test";
import { join } from "node:path";
import { type LogPart, LogTransfer } from "../../lib/session/transfer.ts";
import { openStore, type Store } from "../../lib/session/store.ts";
import { makePlace } from "../support/place.ts";

const asIs = (text: string) => text;
const start = { cwd: "/project", model: "m", provider: "p", mode: "auto" } as const;
const stream = (text: string) => ({
  head: Buffer.from(text),
  tail: new Uint8Array(),
  totalBytes: text.length,
  totalLines: 1,
});

/** A session with a call that has an output. */
async function record(store: Store, id: string): Promise<void> {
  await using session = store.create({ id, ...start });
  session.beginTurn({ kind: "user", parts: [{ type: "text", text: "Fix it: sk-proj-abcdefghij" }] });
  const output = session.outputs.reserve();
  session.outputs.save({ id: output, call: "c", stdout: stream("out sk-proj-abcdefghij\n"), stderr: stream("err\n") });
  const thought = { type: "thinking", text: "sk-proj-abcdefghij?", token: "x-sk-proj-abcdefghij" } as const;
  const usage = { input: 1, cached: 0, output: 1, reasoning: 0 };
  const used = { type: "call", id: "c", tool: "Bash", arguments: "{}" } as const;
  session.append({ kind: "assistant", parts: [thought, used], finish: "calls", usage });
  session.append({ kind: "result", call: "c", tool: "Bash", ok: true, parts: [], durationMs: 1, output });
}

async function proceed(store: Store, id: string): Promise<void> {
  await using session = await store.open(id);
  session.append({ kind: "note", text: "Go on" });
}

async function places() {
  const place = makePlace();
  const [from, to] = [join(place.home, "from.db"), join(place.home, "to.db")];
  const store = openStore(from);
  await record(store, "a");
  const [here, there] = [new LogTransfer(from), new LogTransfer(to)];
  return {
    store,
    here,
    there,
    open: () => openStore(to),
    async [Symbol.asyncDispose]() {
      for (const each of [here, there, store]) each.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

function partOf(part: LogPart | undefined): LogPart {
  if (part === undefined) throw new Error("there is nothing to transfer");
  return part;
}

test("a session comes over in several parts, as it was", async () => {
  await using at = await places();
  const first = partOf(at.here.read("a", 0, asIs));
  await proceed(at.store, "a");
  const second = partOf(at.here.read("a", first.to, asIs));
  expect(at.here.read("a", second.to, asIs)).toBeUndefined();
  expect([first.from, first.to, second.from, second.to]).toEqual([1, 4, 5, 5]);

  at.there.write("b", [first, second]);
  await using other = at.open();
  expect(other.items("b")).toEqual(at.store.items("a"));
  const { id: _, root: __, ...kept } = at.store.find("a");
  expect(other.find("b")).toMatchObject({ ...kept, id: "b", root: "b" });
  await using session = await other.open("b");
  expect(session.lastTurn).toBe("unfinished");
  expect(session.outputs.load("o1")).toEqual({
    id: "o1",
    call: "c",
    stdout: { ...stream("out sk-proj-abcdefghij\n"), head: new Uint8Array(Buffer.from("out sk-proj-abcdefghij\n")) },
    stderr: { ...stream("err\n"), head: new Uint8Array(Buffer.from("err\n")) },
  });
  expect(session.outputs.reserve()).toBe("o2");
});

test("what is masked is in no part: not in items, nor in outputs, nor in the title", async () => {
  await using at = await places();
  const { rows } = partOf(at.here.read("a", 0, (text) => text.replaceAll("sk-proj-abcdefghij", "[key]")));
  const text = new TextDecoder().decode(Bun.gunzipSync(Uint8Array.from(rows)));
  // A provider takes back its signed thoughts only as they were.
  expect(text.replace('\\"token\\":\\"x-sk-proj', "")).not.toContain("sk-proj");
  expect(text).not.toContain(Buffer.from("out sk-proj-abcdefghij\n").toString("base64"));
  expect(text.match(/\[key\]/g)).toHaveLength(3);
  at.there.write("b", [partOf(at.here.read("a", 0, asIs))]);
});

test("what does not fit is refused, and leaves nothing", async () => {
  await using at = await places();
  const first = partOf(at.here.read("a", 0, asIs));
  await proceed(at.store, "a");
  const second = partOf(at.here.read("a", first.to, asIs));
  const cases: [parts: Pick<LogPart, "version" | "rows">[], message: RegExp][] = [
    [[{ ...first, version: first.version + 1 }], /comes from a database with schema \d+, and this one has \d+/],
    [[second], /parts of the log of session "b" are missing/],
    [[first, { ...second, rows: first.rows }], /are missing/],
    [[{ ...first, rows: first.rows.slice(0, 30) }], /damaged/],
    [[{ ...first, rows: Bun.gzipSync("[]") }], /comes from another koda/],
  ];
  for (const [parts, message] of cases) expect(() => at.there.write("b", parts)).toThrow(message);
  expect(at.there.state("b")).toBeUndefined();
});

test("the state of a session says how far it is, and whether somebody has it", async () => {
  await using at = await places();
  expect(at.here.state("none")).toBeUndefined();
  expect(at.here.state("a")).toEqual({ length: 4, isHeld: false, turn: "unfinished" });
  await using session = await at.store.open("a");
  expect(at.here.state("a")?.isHeld).toBe(true);
  session.close();
  at.there.write("b", [partOf(at.here.read("a", 0, asIs))]);
  expect(at.there.state("b")).toEqual({ length: 4, isHeld: false, turn: "unfinished" });
});
