import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { agentEvents, defineAgent, invoke, scriptFor } from "../support/agents.ts";
import { checkLines, exec, koda, type Line } from "../support/koda.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { startModelServer, type Script } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { seeded } from "../support/random.ts";

const random = seeded(16);

/** Each command takes as long as the file `delay` of the project says. */
const slowly = (command: string) => call("Bash", { command: `sleep $(cat delay); ${command}` });
const writing = (name: string) => [
  slowly(`echo ${name} > ${name}.txt`),
  reply(call("Read", { path: `${name}.txt` }), call("Read", { path: "a.txt" })),
  say(`I wrote ${name}.`),
];

/** Four agents at once, one in the background that a second one outlives, and a fork of them all. */
const family: Script = scriptFor({
  "look around": [
    reply(invoke("task", "EARLY", { background: true }), invoke("explore", "LATE", { background: true })),
    reply(...["ONE", "TWO", "THREE"].map((name) => invoke("task", name)), invoke("fork", "FORK")),
    slowly("cat one.txt"),
    reply(invoke("explore", "SAME"), invoke("explore", "SAME")),
    invoke("explore", "SAME"),
    ...Array.from({ length: 6 }, () => say("So far.")),
  ],
  ONE: writing("one"),
  TWO: writing("two"),
  THREE: writing("three"),
  FORK: writing("four"),
  EARLY: writing("five"),
  LATE: [...Array.from({ length: 8 }, (_, index) => call("Read", { path: `a.txt`, start_line: index })), say("Late.")],
  SAME: Array.from({ length: 3 }, (_, index) => say(`answer ${index}`)),
});

/** A provider that takes its time. */
const delayed: Script = async (request, index) => {
  await Bun.sleep(random() * 60);
  return typeof family === "function" ? await family(request, index) : undefined;
};

function project(delay: number): Place {
  return makePlace({ "a.txt": "a\n".repeat(20), delay: String(delay) });
}

/** All that must be the same, and the events of each agent in their order. */
function outcomeOf(events: readonly Line[], place: Place) {
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error("There is no end");
  const { status, exit, text, agents, tools, usage, files_changed } = end;
  const names = ["one", "two", "three", "four", "five"];
  const files = names.map((name) => readFileSync(join(place.project, `${name}.txt`), "utf8"));
  const ids = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"];
  const agentsDid = ids.map((id) =>
    agentEvents(events, id).flatMap((event) => (event.type === "text.done" ? event.text : [])),
  );
  return JSON.stringify({ status, exit, text, agents, tools, usage, files_changed, files, agentsDid });
}

async function recorded(place: Place) {
  await using server = await startModelServer(delayed);
  const { events, end, stderr } = await exec(place, server, ["--record", "../run.tape", "look around"]);
  expect([server.problems, end.exit, end.agents], stderr).toEqual([[], 0, { ok: 9, failed: 0, cancelled: 0 }]);
  return { tape: join(place.project, "../run.tape"), outcome: outcomeOf(events, place) };
}

async function replayed(place: Place, tape: string, ...flags: string[]) {
  const ran = await koda(place, ["exec", "--json", "--replay", tape, ...flags, "look around"]);
  return { ...ran, ...checkLines(ran) };
}

test("a run with many agents is replayed as it was, however fast each of them is", async () => {
  await using place = project(0.03);
  const { tape, outcome } = await recorded(place);
  for (const delay of rounds) {
    await using elsewhere = project(delay);
    const { events, stderr } = await replayed(elsewhere, tape);
    expect(outcomeOf(events, elsewhere), stderr).toBe(outcome);
  }
}, 60_000);

const rounds = Array.from({ length: Number(process.env.KODA_TEST_ROUNDS ?? 4) }, (_, index) => (index % 4) * 0.03);

test.each([false, true])(
  "an agent (in the background: %p) that asks something else ends the replay, which names it and the difference",
  async (background) => {
    await using place = makePlace({ "a.txt": "one\n", "b.txt": "two\n" });
    const readers = reply(...["A", "B"].map((name) => invoke("explore", name, { background })));
    const script = scriptFor({
      "look around": [readers, ...Array.from({ length: 4 }, () => say("End."))],
      A: [call("Read", { path: "a.txt" }), say("Read.")],
      B: [call("Read", { path: "b.txt" }), say("Read.")],
    });
    await using server = await startModelServer(script);
    const { end } = await exec(place, server, ["--record", "../run.tape", "look around"]);
    expect([server.problems, end.exit]).toEqual([[], 0]);
    const tape = join(place.project, "../run.tape");

    await using elsewhere = makePlace({ "a.txt": "one\n", "b.txt": "three\n" });
    const strict = await replayed(elsewhere, tape);
    expect(strict.end).toMatchObject({ status: "failed", exit: 12, error: { code: "replay" } });
    expect(strict.end.error?.message).toMatch(/^Request 2 of the agent "a2" differs from the recorded one at messages/);
    expect(strict.end.error?.message).toMatch(/recorded .*two.*, sent .*three/);

    const loose = await replayed(elsewhere, tape, "--replay-loose");
    expect([loose.end.exit, loose.end.text, loose.end.agents]).toEqual([0, "End.", { ok: 2, failed: 0, cancelled: 0 }]);
    const notices = agentEvents(loose.events, "a2").filter(({ type }) => type === "notice");
    expect(notices).toEqual([expect.objectContaining({ code: "replay", message: strict.end.error?.message })]);
  },
);

test("a cassette has no key of any agent's model, and none is needed for its replay", async () => {
  await using place = makePlace();
  const secret = "corp-0123456789abcdef";
  const script = scriptFor({
    "look around": [reply(invoke("one", "ONE"), invoke("two", "TWO")), say("End.")],
    ONE: [say(`The key is ${secret}.`)],
    TWO: [say("Two.")],
  });
  await using server = await startModelServer(script);
  const corp = { base_url: server.url, api_key_env: "CORP_LOGIN", models: { big: {} } };
  const providers = ["--config", `providers.corp=${JSON.stringify(corp)}`];
  defineAgent(place, "one", { model: "corp/big" });
  defineAgent(place, "two", { model: "corp/other" });
  const run = [...providers, "--record", "../run.tape", "look around"];
  const { end, stdout } = await exec(place, server, run, { env: { CORP_LOGIN: secret } });
  expect([end.exit, end.agents]).toEqual([0, { ok: 2, failed: 0, cancelled: 0 }]);
  expect(stdout).toContain(secret);
  const tape = join(place.project, "../run.tape");
  const tracks = readFileSync(tape, "utf8").trim().split("\n").slice(1);
  expect(tracks.map((line) => JSON.parse(line).track).sort()).toEqual(["a1", "a2", undefined, undefined]);
  expect(tracks.join()).not.toContain(secret);
  // With the providers or without.
  for (const flags of [providers, []]) {
    const again = await replayed(place, tape, ...flags);
    expect([again.end.exit, again.end.agents], again.stderr).toEqual([0, end.agents]);
  }
});
