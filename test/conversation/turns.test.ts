import { expect, test } from "bun:test";
import type { Event } from "../../lib/engine/event.ts";
import { KodaError } from "../../lib/errors.ts";
import type { Model } from "../../lib/model/model.ts";
import { called, openScene, prompt, said, scripted, tool } from "../support/conversation.ts";

async function diffOf(events: AsyncIterable<Event>): Promise<string[]> {
  const all = await Array.fromAsync(events);
  return all.flatMap((event) => (event.type === "diff" ? event.files.map(({ path, kind }) => `${kind} ${path}`) : []));
}

const write = (path: string, content: string) => called(["Bash", { command: `printf %s ${content} > ${path}` }]);

test("each turn has the changes of its own, and numbers go on", async () => {
  const model = scripted(write("a.txt", "one"), said("1"), write("b.txt", "two"), said("2"), said("3"));
  await using scene = await openScene(model);
  const { conversation, stop } = scene;
  const run = () => diffOf(conversation.run({ prompt }, stop.signal));
  expect([await run(), await run(), await run()]).toEqual([["add a.txt"], ["add b.txt"], []]);
  expect(conversation.totals.filesChanged).toBe(2);
  const turns = conversation.parts.session.items().flatMap((item) => (item.kind === "turn_end" ? [item.turn] : []));
  expect(turns).toEqual([1, 2, 3]);
});

test("the changes of a command that was taken for a reading one are told as well", async () => {
  await using scene = await openScene(scripted(called(["Bash", { command: "git diff" }]), said("1")));
  const { conversation, place, stop } = scene;
  place.write("a.txt", "one");
  place.write("external.sh", "echo written > made.txt");
  const git = (...args: string[]) => Bun.spawnSync(["git", ...args], { cwd: place.project, env: place.env });
  git("init", "-q");
  git("config", "diff.external", "sh ./external.sh");
  git("add", ".");
  place.write("a.txt", "two");
  const events = await Array.fromAsync(conversation.run({ prompt }, stop.signal));
  expect(events.find((event) => event.type === "tool.start")).toMatchObject({ effect: "read" });
  expect(events.find((event) => event.type === "diff")).toMatchObject({ files: [{ path: "made.txt", kind: "add" }] });
});

test("a turn after an interrupt works, and what runs in the background lives on", async () => {
  const background = { command: "sleep 1000", background: true };
  const model = scripted(
    called(["Bash", background]),
    called(["Bash", { command: "touch started; sleep 60" }]),
    called(["TaskList", {}]),
    said("fine"),
  );
  await using scene = await openScene(model);
  const { conversation } = scene;
  const interrupt = new AbortController();
  const first: Event[] = [];
  for await (const event of conversation.run({ prompt }, interrupt.signal)) {
    first.push(event);
    if (event.type === "tool.start" && first.filter(({ type }) => type === "tool.start").length === 2)
      interrupt.abort(new KodaError("sigint", "interrupted"));
  }
  expect(first.at(-1)).toMatchObject({ type: "turn.end", reason: "cancelled" });
  const second = await Array.fromAsync(conversation.run({ prompt }, new AbortController().signal));
  const list = second.find((event) => event.type === "tool.end");
  expect(list).toMatchObject({ summary: expect.stringMatching(/^t1 is running/) });
  expect(second.at(-1)).toMatchObject({ type: "turn.end", turn: 2, reason: "complete" });
});

test("a turn after one whose call ignored the interrupt works", async () => {
  const interrupt = new AbortController();
  const deaf = tool("Deaf", () => {
    interrupt.abort(new KodaError("sigint", "interrupted"));
    return new Promise(() => {});
  });
  await using scene = await openScene(scripted(called("Deaf"), said("fine")), { tools: [deaf] });
  const { conversation, stop } = scene;
  const first = await Array.fromAsync(conversation.run({ prompt }, interrupt.signal));
  expect(first.at(-1)).toMatchObject({ type: "turn.end", reason: "cancelled" });
  const second = await Array.fromAsync(conversation.run({ prompt }, stop.signal));
  expect(second.map(({ type }) => type)).not.toContain("tool.end");
  expect(second.at(-1)).toMatchObject({ type: "turn.end", turn: 2, reason: "complete" });
});

test("a reader that leaves while the model is silent does not wait for it", async () => {
  const silent: Model = async function* (_, signal) {
    yield [];
    await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  await using scene = await openScene(silent);
  const { conversation, stop } = scene;
  for await (const event of conversation.run({ prompt }, stop.signal)) {
    if (event.type === "notice") break;
    setImmediate(() => conversation.parts.events.post({ type: "notice", level: "info", code: "test", message: "now" }));
  }
  expect(conversation.parts.session.items().at(-1)).toMatchObject({ kind: "turn_end", reason: "cancelled" });
});

test("only one turn runs at a time", async () => {
  await using scene = await openScene(scripted(said("1"), said("2")));
  const { conversation, stop } = scene;
  const first = conversation.run({ prompt }, stop.signal);
  await first.next();
  await expect(conversation.run({ prompt }, stop.signal).next()).rejects.toThrow("is running");
  await Array.fromAsync(first);
  const second = await Array.fromAsync(conversation.run({ prompt }, stop.signal));
  expect(second.at(-1)).toMatchObject({ type: "turn.end", turn: 2 });
});
