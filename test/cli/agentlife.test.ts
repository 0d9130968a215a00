import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { agentEvents, defineAgent, invoke, resultsIn, scriptFor } from "../support/agents.ts";
import { databaseIn } from "../support/agentsessions.ts";
import { exec, follow, koda, start, using } from "../support/koda.ts";
import { call, hang, reply, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";

test("an agent uses the model of its definition, with the address and the key of that provider", async () => {
  await using place = makePlace();
  await using own = await startModelServer([
    invoke("cheap", "CHEAP"),
    invoke("smaller", "SMALLER"),
    say("small"),
    say("End."),
  ]);
  await using other = await startModelServer([say("cheap answer")]);
  place.env.ALPHA_KEY = "key-of-alpha";
  place.env.BETA_KEY = "key-of-beta";
  configure(place, {
    providers: {
      alpha: { base_url: own.url, api_key_env: "ALPHA_KEY" },
      beta: { base_url: other.url, api_key_env: "BETA_KEY" },
    },
  });
  defineAgent(place, "cheap", "---\nname: cheap\ndescription: Cheap.\nmodel: beta/tiny\n---\nBe cheap.\n");
  defineAgent(place, "smaller", "---\nname: smaller\ndescription: Small.\nmodel: tiny\n---\nBe small.\n");
  const { stdout, exit } = await koda(place, ["exec", "-m", "alpha/big", "go"]);
  expect([own.problems, other.problems, exit, stdout]).toEqual([[], [], 0, "End.\n"]);
  const asked = [...own.requests, ...other.requests].map(({ headers, body }) => [body.model, headers.authorization]);
  expect(asked).toEqual([
    ["big", "Bearer key-of-alpha"],
    ["big", "Bearer key-of-alpha"],
    ["tiny", "Bearer key-of-alpha"],
    ["big", "Bearer key-of-alpha"],
    ["tiny", "Bearer key-of-beta"],
  ]);
});

test("an agent whose model cannot be used is a failed call", async () => {
  await using place = makePlace();
  defineAgent(place, "far", "---\nname: far\ndescription: Far.\nmodel: openai/gpt-5.5\n---\nBe far.\n");
  await using server = await startModelServer([
    reply(invoke("far", "FAR"), invoke("far", "FAR", { background: true })),
    say("Then not."),
  ]);
  const { end } = await exec(place, server, ["go"]);
  const why = expect.stringMatching(/^The agent was not started: No API key for the provider "openai"/);
  expect(resultsIn(server.requests.at(-1))).toEqual([why, why]);
  expect([end.exit, end.agents, end.tools.failed]).toEqual([0, undefined, 2]);
});

test("the limit of a definition ends its agent with what it has", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  defineAgent(place, "short", "---\nname: short\ndescription: Short.\nmax_turns: 2\n---\nBe short.\n");
  await using server = await startModelServer(
    scriptFor({
      go: [invoke("short", "SHORT"), say("End.")],
      SHORT: [call("Read", { path: "a.txt" }), say("as far as I came")],
    }),
  );
  const { events, end } = await exec(place, server, ["go"]);
  expect(agentEvents(events).at(-1)).toMatchObject({ type: "end", status: "limit", error: { code: "max_turns" } });
  expect(resultsIn(server.requests.at(-1))).toEqual([expect.stringContaining('(max_turns of the agent "short")')]);
  expect(resultsIn(server.requests.at(-1))).toEqual([expect.stringContaining("as far as I came")]);
  expect([end.status, end.agents]).toEqual(["done", { ok: 0, failed: 1, cancelled: 0 }]);
});

test("a conversation is compacted while an agent works, and still gets its answer", async () => {
  const page = `${"word ".repeat(20)}\n`.repeat(100);
  await using place = makePlace(Object.fromEntries([0, 1, 2, 3, 4, 5].map((n) => [`p${n}.txt`, page])));
  const summarized = Promise.withResolvers<void>();
  await using server = await startModelServer(
    scriptFor({
      "about to outgrow": () => (summarized.resolve(), say("Goal: read the pages.")),
      go: (request, index) => {
        if (index === 0) return invoke("explore", "SLOW", { background: true });
        if (index <= 6) return call("Read", { path: `p${index - 1}.txt` });
        return say(request.lines.some(({ text }) => text.includes("slow answer")) ? "Got it." : "I wait.");
      },
      SLOW: async () => (await summarized.promise, say("slow answer")),
    }),
  );
  const { events, end } = await exec(place, server, ["--config", "model_defaults.context_window=16000", "go"]);
  expect(server.problems).toEqual([]);
  expect(events.some(({ type }) => type === "compact")).toBe(true);
  expect([end.text, end.agents]).toEqual(["Got it.", { ok: 1, failed: 0, cancelled: 0 }]);
});

test("while agents work the session cannot be rolled back, and a fork of it knows that they are gone", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({
      "in the fork": (request) => say(request.lines.map(({ text }) => text).join("\n")),
      go: [invoke("explore", "NEVER", { background: true }), say("I wait.")],
      NEVER: () => hang(),
    }),
  );
  const child = start(place, ["exec", "--output", "jsonl", "--session", "s", ...using(server), "go"]);
  const lines = follow(child);
  await lines.until((line) => line.type === "text.done");
  const refused = await koda(place, ["session", "rollback", "s", "1"]);
  expect([refused.exit, refused.stderr]).toEqual([
    10,
    expect.stringContaining("Cannot rollback while a turn is in progress."),
  ]);
  const { end } = await exec(place, server, ["--fork", "s", "in the fork"]);
  expect(end.text).toContain('the background agent "a1" was stopped when the earlier run ended');

  child.kill("SIGINT");
  const ended = await lines.finished();
  expect([ended.end.exit, ended.end.agents]).toEqual([130, { ok: 0, failed: 0, cancelled: 1 }]);
});

test("a message reaches a running agent, and one that it would never read is refused", async () => {
  await using place = makePlace();
  const sent = Promise.withResolvers<void>();
  await using server = await startModelServer(
    scriptFor({
      go: (_, index) => {
        if (index === 0) return invoke("explore", "FIRST", { background: true });
        if (index === 1) return call("TaskSend", { id: "a1", message: "MORE of it" });
        if (index === 2) sent.resolve();
        if (index === 3)
          return reply(call("TaskSend", { id: "a1", message: "too late" }), call("TaskOutput", { id: "a1" }));
        return say("I wait.");
      },
      FIRST: async () => (await sent.promise, say("first answer")),
      MORE: [say("answer to both")],
    }),
  );
  const { end } = await exec(place, server, ["go"]);
  expect(server.problems).toEqual([]);
  const last = server.requests.at(-1);
  expect(resultsIn(last).slice(-2)).toEqual([expect.stringContaining("takes no more messages"), "answer to both"]);
  expect(last?.lines.filter(({ text }) => text.includes("answer to both"))).toHaveLength(2);
  expect(end.agents).toEqual({ ok: 1, failed: 0, cancelled: 0 });
});

test("a call that stops an agent has not failed, and neither has one that shows what became of it", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({
      go: [
        invoke("explore", "NEVER", { background: true }),
        call("TaskStop", { id: "a1" }),
        call("TaskOutput", { id: "a1" }),
        say("End."),
      ],
      NEVER: () => hang(),
    }),
  );
  const { end } = await exec(place, server, ["go"]);
  const stopped = "[koda: the agent was stopped: TaskStop was called]";
  expect(resultsIn(server.requests.at(-1)).slice(1)).toEqual([stopped, stopped]);
  expect([end.tools, end.agents]).toEqual([
    { ok: 3, failed: 0, denied: 0 },
    { ok: 0, failed: 0, cancelled: 1 },
  ]);
});

test("a run that cannot store the answer of an agent in the background fails, and ends", async () => {
  await using place = makePlace();
  const waits = Promise.withResolvers<void>();
  await using server = await startModelServer(
    scriptFor({
      go: [invoke("explore", "LONG", { background: true }), say("I wait.")],
      LONG: async () => (await waits.promise, say("finding\n".repeat(4_000))),
    }),
  );
  const lines = follow(start(place, ["exec", "--output", "jsonl", "--session", "s", ...using(server), "go"]));
  await lines.until((line) => line.type === "text.done");
  // As another process does that takes the session.
  using db = new Database(databaseIn(place));
  db.run("DELETE FROM lease WHERE session = 's'");
  waits.resolve();
  const { end } = await lines.finished();
  expect([end.error?.code, end.agents]).toEqual(["session_held", { ok: 1, failed: 0, cancelled: 0 }]);
});

test("an id that the model knows stands for one agent, also when its session was removed", async () => {
  await using place = makePlace();
  const ask = invoke("explore", "QUICK", { background: true });
  await using server = await startModelServer(
    scriptFor({
      again: [ask, say("I wait."), say("End.")],
      go: [ask, say("I wait."), say("End.")],
      QUICK: () => say("quick answer"),
    }),
  );
  const { events } = await exec(place, server, ["--session", "s", "go"]);
  const [first] = agentEvents(events);
  if (first?.type !== "session.start") throw new Error("The first event of an agent is its start");
  const { exit } = await koda(place, ["session", "rm", first.session]);
  expect(exit).toBe(0);

  await exec(place, server, ["--resume", "s", "again"]);
  const told = resultsIn(server.requests.at(-1)).filter((text) => text?.startsWith("The agent runs"));
  expect(told).toEqual([expect.stringContaining('"a1"'), expect.stringContaining('"a2"')]);
});

test("a resumed session is told of its only agent when the session of that was removed", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({
      "go on": (request) => say(request.lines.map(({ text }) => text).join("\n")),
      go: [invoke("explore", "NEVER", { background: true }), hang()],
      NEVER: () => hang(),
    }),
  );
  const child = start(place, ["exec", "--output", "jsonl", "--session", "s", ...using(server), "go"]);
  let session = "";
  await follow(child).until((line) => {
    if (line.type === "agent" && line.event.type === "session.start") ({ session } = line.event);
    return line.type === "tool.end";
  });
  child.kill("SIGKILL");
  await child.exited;
  expect(await koda(place, ["session", "rm", session])).toMatchObject({ exit: 0 });
  const { end } = await exec(place, server, ["--resume", "s", "go on"]);
  expect(end.text).toContain(
    '[koda: the background agent "a1" of the earlier run has left no session, and has no answer.]',
  );
});

test("what an agent connects to is among its own events, and explained to it alone", async () => {
  await using place = makePlace({}, "/var/tmp");
  // Servers number the calls of each conversation in the same way.
  const fetching = (host: string, other: string) => {
    const command = `curl -sS https://${host}.example; touch ${host}; until [ -e ${other} ]; do sleep 0.01; done; exit 1`;
    return [call("Bash", { command }, { id: "call_0" }), say("It was refused.")];
  };
  await using server = await startModelServer(
    scriptFor({
      go: [reply(invoke("task", "ALPHA"), invoke("task", "BETA")), say("End.")],
      ALPHA: fetching("alpha", "beta"),
      BETA: fetching("beta", "alpha"),
    }),
  );
  const { events } = await exec(place, server, ["go"]);
  expect(events.filter(({ type }) => type === "egress")).toEqual([]);
  for (const [id, host] of [
    ["a1", "alpha.example"],
    ["a2", "beta.example"],
  ] as const) {
    const own = agentEvents(events, id);
    expect(own.flatMap((event) => (event.type === "egress" ? [[event.host, event.tool]] : []))).toEqual([
      [host, "call_0"],
    ]);
    expect(own.find(({ type }) => type === "tool.end")).toMatchObject({ summary: expect.stringContaining(host) });
  }
});

test("people see what an agent was refused, once", async () => {
  await using place = makePlace();
  const fetch = call("WebFetch", { url: "https://alpha.example" });
  await using server = await startModelServer(
    scriptFor({ go: [invoke("task", "ALPHA"), say("End.")], ALPHA: [reply(fetch, fetch), say("no")] }),
  );
  const { stderr } = await koda(place, ["exec", ...using(server), "go"]);
  const lines = stderr.split("\n").filter((line) => line.startsWith("[a1 task] ! egress"));
  expect(lines).toEqual([expect.stringContaining("alpha.example:443 refused: not on the allowlist")]);
});

test("an agent without a task is not started, and an empty message is not sent", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({
      go: [
        invoke("fork", " \n"),
        invoke("explore", "NEVER", { background: true }),
        reply(call("TaskSend", { id: "a1", message: "" }), call("TaskSend", { id: "a2", message: "more" })),
        call("TaskStop", { id: "a1" }),
        say("End."),
      ],
      NEVER: () => hang(),
    }),
  );
  const { end } = await exec(place, server, ["go"]);
  expect(resultsIn(server.requests.at(-1)).slice(0, 4)).toEqual([
    'The agent was not started: "prompt" is empty. Say everything that it needs to know, and what to answer.',
    'The agent runs in the background as "a1".',
    'Nothing was sent: "message" is empty.',
    'There is no background task "a2". There are: a1.',
  ]);
  expect([end.tools, end.agents]).toEqual([
    { ok: 2, failed: 3, denied: 0 },
    { ok: 0, failed: 0, cancelled: 1 },
  ]);
});

test("a run as an agent that reaches the limit of its definition says whose limit it is", async () => {
  await using place = makePlace();
  defineAgent(place, "short", "---\nname: short\ndescription: Short.\nmax_turns: 1\n---\nBe short.\n");
  await using server = await startModelServer([call("List", { path: "." })]);
  const { end } = await exec(place, server, ["--agent", "short", "go"]);
  expect(end.error?.message).toBe('Request limit reached: 1 (max_turns of the agent "short")');
});

test("a long answer that came too late for its run is cut, and all of it can be recalled", async () => {
  await using place = makePlace();
  const answer = Array.from({ length: 2_000 }, (_, index) => `finding ${index} `).join("\n");
  await using server = await startModelServer(
    scriptFor({
      "go on": [call("RecallContext", { output: "o1", range: "1999-2000" }), say("End.")],
      go: (_, index) => (index === 0 ? invoke("explore", "LONG", { background: true }) : hang()),
      LONG: () => say(answer),
    }),
  );
  const child = start(place, ["exec", "--output", "jsonl", "--session", "s", ...using(server), "go"]);
  await follow(child).until((line) => line.type === "agent" && line.event.type === "end");
  child.kill("SIGKILL");
  await child.exited;

  await exec(place, server, ["--resume", "s", "go on"]);
  const { lines } = server.requests.at(-1) ?? { lines: [] };
  const [told] = lines.filter(({ text }) => text.includes("finding 0"));
  expect(told?.text.length).toBeLessThan(20_000);
  expect(lines.at(-1)?.text).toContain("finding 1999");
});

test("eight agents work at once, and the ninth begins when one of them has ended", async () => {
  await using place = makePlace();
  const names = Array.from({ length: 9 }, (_, index) => `AGENT-${index + 1}`);
  const eight = Promise.withResolvers<void>();
  let asked = 0;
  const answer = async () => {
    if (++asked === 8) eight.resolve();
    await eight.promise;
    return say("done");
  };
  await using server = await startModelServer(
    scriptFor({
      go: [reply(...names.map((name) => invoke("explore", name))), say("End.")],
      ...Object.fromEntries(names.map((name) => [name, answer])),
    }),
  );
  const { events, end } = await exec(place, server, ["go"]);
  expect(end.agents).toEqual({ ok: 9, failed: 0, cancelled: 0 });
  const placesOf = (type: string) =>
    events.flatMap((line, index) => (line.type === "agent" && line.event.type === type ? [index] : []));
  const [firstEnd = 0] = placesOf("end");
  expect(placesOf("session.start").filter((index) => index < firstEnd)).toHaveLength(8);
});

test("commands that an agent has left in the background are stopped when it ends", async () => {
  await using place = makePlace();
  const name = `left-${crypto.randomUUID()}`;
  const command = `exec -a ${name} sleep 300`;
  let running: readonly boolean[] = [];
  const isRunning = () => readdirSync("/proc").some((pid) => /^\d+$/.test(pid) && argumentsOf(pid).startsWith(name));
  await using server = await startModelServer(
    scriptFor({
      go: (_, index) => {
        if (index === 0) return invoke("task", "START it");
        running = [...running, isRunning()];
        return say("End.");
      },
      START: async (_, index) => {
        if (index === 0) return call("Bash", { command, background: true });
        while (!isRunning()) await Bun.sleep(5);
        running = [true];
        return say("It runs.");
      },
    }),
  );
  await exec(place, server, ["go"]);
  expect(running).toEqual([true, false]);
});

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    // It has ended.
    return "";
  }
}
