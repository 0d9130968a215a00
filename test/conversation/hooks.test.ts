import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { HookConfig } from "../../lib/config/config.ts";
import type { Event } from "../../lib/engine/event.ts";
import { KodaError } from "../../lib/errors.ts";
import type { Model } from "../../lib/model/model.ts";
import { until } from "../support/until.ts";
import { called, openScene, prompt, said, scripted, tool } from "../support/conversation.ts";

const hook = (on: HookConfig["on"], command: string, required = false): HookConfig => ({
  on,
  command,
  required,
  timeoutMs: 60_000,
});

const notices = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === "notice" && event.code === "hook" ? [event.message] : []));

test("a conversation begins once, and every turn has its prompt and its end", async () => {
  const hooks = (["session.start", "prompt", "stop", "turn.end", "session.end"] as const).map((on) =>
    hook(on, `echo ${on} >> log`),
  );
  await using scene = await openScene(scripted(said("1"), said("2")), { hooks });
  for (let turn = 0; turn < 2; turn++) await Array.fromAsync(scene.conversation.run({ prompt }, scene.stop.signal));
  const lines = readFileSync(join(scene.place.project, "log"), "utf8").trimEnd().split("\n");
  const turn = ["prompt", "stop", "turn.end"];
  expect(lines).toEqual(["session.start", ...turn, ...turn]);
});

test("input that comes while a turn runs is asked about like a prompt", async () => {
  const deny = `grep -q '"prompt":"secret"' && { echo it is a secret >&2; exit 2; }; echo '{"context":"seen"}'`;
  const texts: string[][] = [];
  const model: Model = async function* ({ messages }) {
    texts.push(messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : []))));
    if (texts.length === 1)
      for (const text of ["secret", "more"]) scene.conversation.inbox.add([{ type: "text", text }]);
    yield texts.length === 1 ? called("Look") : said("Done.");
  };
  await using scene = await openScene(model, { tools: [tool("Look", () => {})], hooks: [hook("prompt", deny)] });
  const events = await Array.fromAsync(scene.events());
  const seen = "The user's hook (prompt) says:\nseen";
  expect(texts[1]).toEqual(["hi", seen, "done", "more", seen]);
  expect(notices(events)).toEqual([
    expect.stringMatching(/^New input was not added, denied by the hook .*it is a secret$/),
  ]);
});

test("hooks that cannot run because of another run have failed", async () => {
  const before = () => Promise.reject(new KodaError("busy", "Another run has commands here"));
  const optional = { hooks: [hook("prompt", "true"), hook("turn.end", "true")], before };
  {
    await using scene = await openScene(scripted(said("Done.")), optional);
    const events = await Array.fromAsync(scene.events());
    expect(events.at(-1)).toMatchObject({ status: "done", text: "Done." });
    expect(notices(events)).toEqual([
      'The hook "true" (prompt) failed: Another run has commands here',
      'The hook "true" (turn.end) failed: Another run has commands here',
    ]);
  }
  await using scene = await openScene(scripted(said("Done.")), { hooks: [hook("prompt", "true", true)], before });
  const end = (await Array.fromAsync(scene.events())).at(-1);
  expect(end).toMatchObject({ status: "failed", exit: 1, error: { code: "hook" } });
});

test("a conversation that is closed during a hook ends it", async () => {
  const slow = hook("tool.before", "touch started; while ! test -e go; do sleep 0.01; done; touch went");
  const tools = [tool("Look", () => {})];
  await using scene = await openScene(scripted(called("Look"), said("Done.")), { tools, hooks: [slow] });
  const { conversation, place, stop } = scene;
  const at = (name: string) => join(place.project, name);
  const running = Array.fromAsync(conversation.run({ prompt }, stop.signal));
  await until(() => existsSync(at("started")));
  await conversation[Symbol.asyncDispose]();
  place.write("go", "");
  expect((await running).at(-1)).toMatchObject({ type: "turn.end", reason: "cancelled" });
  expect(existsSync(at("went"))).toBe(false);
});

test("an end that a hook denies again and again ends the run as a loop", async () => {
  const deny = hook("tool.before", "exit 2");
  const { finishTool } = await import("../../lib/tools/finish.ts");
  const end = called(["Finish", { status: "done", summary: "All good." }]);
  const model: Model = async function* () {
    yield end;
  };
  await using scene = await openScene(model, { tools: [finishTool(undefined)], hooks: [deny] });
  const events = await Array.fromAsync(scene.events());
  expect(events.at(-1)).toMatchObject({ status: "failed", error: { code: "loop" }, tools: { denied: 4 } });
});

test("a run without hooks loads nothing for them", () => {
  const program = `
    await import(${JSON.stringify(join(import.meta.dir, "../../cmd/exec.ts"))});
    const loaded = (folder) => Object.keys(require.cache).some((path) => path.includes(folder));
    console.log(loaded("/lib/conversation/"), loaded("/lib/hooks/"));
  `;
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", program]);
  expect(`${stdout}${stderr}`).toBe("true false\n");
});
