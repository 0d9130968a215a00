import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentEvents, defineAgent, invoke, resultsIn, scriptFor } from "../support/agents.ts";
import { exec, follow, koda, start, using } from "../support/koda.ts";
import { call, hang, reply, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";

test("an agent does its task with its own tools, and its answer is the result of the call", async () => {
  await using place = makePlace({ "a.txt": "the secret is 42\n" });
  await using server = await startModelServer(
    scriptFor({
      "fix it": [invoke("explore", "EXPLORE: find the secret"), say("It is 42.")],
      EXPLORE: [call("Read", { path: "a.txt" }), say("a.txt:1 says 42")],
    }),
  );
  const { events, end } = await exec(place, server, ["fix it"]);
  expect(server.problems).toEqual([]);
  expect([end.status, end.exit, end.text, end.agents]).toEqual([
    "done",
    0,
    "It is 42.",
    { ok: 1, failed: 0, cancelled: 0 },
  ]);
  expect(resultsIn(server.requests.at(-1))).toEqual(["a.txt:1 says 42"]);

  // The agent sees only its own prompt, and is offered exactly its tools.
  const child = server.requests[1];
  expect(JSON.stringify(child?.body)).not.toContain("fix it");
  expect(child?.tools).toEqual(["Read", "List", "Glob", "Grep", "Bash"]);

  const own = agentEvents(events);
  expect(own.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["session.start", "turn.start", "tool.start", "tool.end", "turn.end", "end"]),
  );
  const [start] = own;
  if (start?.type !== "session.start") throw new Error("The first event of an agent is its start");
  expect([start.source, start.mode, start.parent, start.root]).toEqual([
    "agent",
    "plan",
    end.session ?? "",
    end.session ?? "",
  ]);
  const last = own.at(-1);
  expect(last).toMatchObject({ type: "end", status: "done", text: "a.txt:1 says 42", session: start.session });
  // Its calls and tokens count in the run.
  expect(end.tools).toEqual({ ok: 2, failed: 0, denied: 0 });
});

test("agents of one reply work at the same time, and their results come in the order of the calls", async () => {
  await using place = makePlace();
  const both = Promise.withResolvers<void>();
  let waiting = 0;
  const write = async (path: string) => {
    if (++waiting === 2) both.resolve();
    await both.promise;
    return call("Write", { path, content: `${path}\n` });
  };
  await using server = await startModelServer(
    scriptFor({
      go: [reply(invoke("task", "ONE"), invoke("task", "TWO")), say("Both are done.")],
      ONE: (_, index) => (index === 0 ? write("one.txt") : say("first")),
      TWO: (_, index) => (index === 0 ? write("two.txt") : say("second")),
    }),
  );
  const { events, end } = await exec(place, server, ["go"]);
  expect(server.problems).toEqual([]);
  expect([end.agents, end.files_changed]).toEqual([{ ok: 2, failed: 0, cancelled: 0 }, 2]);
  expect(resultsIn(server.requests.at(-1))).toEqual(["first", "second"]);
  expect(events.find(({ type }) => type === "diff")).toMatchObject({
    files: [{ path: "one.txt" }, { path: "two.txt" }],
  });
  expect(readFileSync(join(place.project, "one.txt"), "utf8")).toBe("one.txt\n");
});

test("a fork knows the conversation: its requests begin with the bytes of its parent's", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await using server = await startModelServer(
    scriptFor({
      go: [call("Read", { path: "a.txt" }), invoke("fork", "FORK: say what you know"), say("End.")],
      FORK: [invoke("explore", "deeper"), say("I know a.txt")],
    }),
  );
  const { end } = await exec(place, server, ["go"]);
  expect(server.problems).toEqual([]);
  expect(end.agents).toEqual({ ok: 1, failed: 0, cancelled: 0 });
  const [, parent, fork, refused] = server.requests;
  const openEnd = (raw = "") => raw.slice(0, raw.indexOf("}]", raw.lastIndexOf('"role"')));
  expect(fork?.body.tools).toEqual(parent?.body.tools);
  expect(fork?.raw.startsWith(openEnd(parent?.raw))).toBe(true);
  // Which does not mean that it may start others.
  expect(resultsIn(refused).at(-1)).toContain("Denied: an agent cannot start agents");
});

test("an agent that is not known is a failed call that names those that are", async () => {
  await using place = makePlace();
  await using server = await startModelServer([invoke("explorer", "x"), say("Then not.")]);
  const { end } = await exec(place, server, ["go"]);
  expect(resultsIn(server.requests.at(-1))).toEqual([
    expect.stringContaining('["explore","plan","review","task","fork"]'),
  ]);
  expect([end.tools, end.agents]).toEqual([{ ok: 0, failed: 1, denied: 0 }, undefined]);
});

test("an agent in mode plan cannot write, with a command that seems to read neither", async () => {
  await using place = makePlace({ "a.txt": "a\n" }, "/var/tmp");
  await using server = await startModelServer(
    scriptFor({
      go: [invoke("review", "PLAN"), say("End.")],
      PLAN: [
        reply(call("Write", { path: "b.txt", content: "b" }), call("Bash", { command: "echo x > b.txt" })),
        call("Bash", { command: "git diff --output=b.txt --no-index a.txt /dev/null" }),
        say("no"),
      ],
    }),
  );
  const { end } = await exec(place, server, ["go"]);
  expect(existsSync(join(place.project, "b.txt"))).toBe(false);
  expect(end.files_changed).toBe(0);
  expect(end.tools.denied).toBeGreaterThanOrEqual(2);
});

test("agents leave the last request of a run to their parent", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await using server = await startModelServer(
    scriptFor({
      go: [invoke("explore", "LONG"), say("As far as it came.")],
      LONG: (_, index) => (index === 2 ? say("half of it") : call("Read", { path: "a.txt", start_line: index + 1 })),
    }),
  );
  const { end } = await exec(place, server, ["go", "--max-turns", "5"]);
  expect(server.problems).toEqual([]);
  expect(server.requests).toHaveLength(5);
  expect(resultsIn(server.requests.at(-1))).toEqual([expect.stringContaining("half of it")]);
  expect([end.status, end.exit, end.text, end.agents?.failed]).toEqual(["limit", 5, "As far as it came.", 1]);
});

test("the answer of an agent matches the schema that the call gives", async () => {
  await using place = makePlace();
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  await using server = await startModelServer(
    scriptFor({
      go: [invoke("task", "COUNT", { schema }), say("Seven.")],
      COUNT: [say("seven"), say('{"n":7}')],
    }),
  );
  await exec(place, server, ["go"]);
  expect(server.problems).toEqual([]);
  expect(resultsIn(server.requests.at(-1))).toEqual(['{"n":7}']);
});

test("exec waits for an agent in the background, gives its answer to the model once, and then ends", async () => {
  await using place = makePlace();
  const answered = Promise.withResolvers<void>();
  await using server = await startModelServer(
    scriptFor({
      go: (request, index) => {
        if (index === 0) return invoke("explore", "SLOW", { background: true });
        if (index === 1) {
          answered.resolve();
          return say("I wait for it.");
        }
        return say(`It said: ${request.lines.at(-1)?.text}`);
      },
      SLOW: async () => {
        await answered.promise;
        return say("slow answer");
      },
    }),
  );
  const { end } = await exec(place, server, ["go"]);
  expect(server.problems).toEqual([]);
  expect([end.status, end.agents]).toEqual(["done", { ok: 1, failed: 0, cancelled: 0 }]);
  expect(end.text).toContain('the background agent "a1" (explore) has ended');
  expect(end.text.split("slow answer")).toHaveLength(2);
  expect(server.requests).toHaveLength(4);
});

test("a time limit ends an agent in the background: it is counted as cancelled", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({ go: [invoke("explore", "NEVER", { background: true }), say("I wait.")], NEVER: () => hang() }),
  );
  const { events, end } = await exec(place, server, ["go", "--timeout", "2s"]);
  expect([end.status, end.exit, end.agents]).toEqual(["limit", 124, { ok: 0, failed: 0, cancelled: 1 }]);
  // Its writes are in the diff of the turn.
  const ended = events.findIndex((event) => event.type === "agent" && event.event.type === "end");
  expect(ended).toBeGreaterThan(0);
  expect(ended).toBeLessThan(events.findIndex(({ type }) => type === "turn.end"));
});

/** An explorer that reads a file, the number of its requests so far told by its answers. */
const explorer = () => {
  let runs = 0;
  return (_: unknown, index: number) => {
    if (index % 2 === 0) return call("Read", { path: "a.txt" });
    return say(`answer ${++runs}`);
  };
};

const askAgain = invoke("explore", "SAME");

test("the same question to an agent is answered from memory, until something may have changed", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  const file = join(place.project, "a.txt");
  await using server = await startModelServer(
    scriptFor({
      go: (_, index) => {
        if (index === 2) return call("Write", { path: "b.txt", content: "b\n" });
        // A change from outside.
        if (index === 5) writeFileSync(file, "changed\n");
        return index === 6 ? say("End.") : askAgain;
      },
      SAME: explorer(),
    }),
  );
  await exec(place, server, ["go"]);
  expect(server.problems).toEqual([]);
  const answers = resultsIn(server.requests.at(-1)).filter((text) => text?.startsWith("answer"));
  expect(answers).toEqual(["answer 1", "answer 1", "answer 2", "answer 2", "answer 3"]);
});

test("a change that an agent has made is one of the task that asked for it", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({
      "Fix the typo": [invoke("task", "WORK"), say("I fixed it.")],
      WORK: [call("Write", { path: "a.txt", content: "fixed\n" }), say("Written.")],
    }),
  );
  const { end } = await exec(place, server, ["Fix the typo in a.txt"]);
  expect([end.text, end.incomplete, server.requests.length]).toEqual(["I fixed it.", undefined, 4]);
});

test("an answer of an agent that may not have finished is not kept", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({ go: [askAgain, askAgain, say("End.")], SAME: () => say("Now I will look at it:") }),
  );
  const { end } = await exec(place, server, ["go"]);
  expect(end.agents).toEqual({ ok: 2, failed: 0, cancelled: 0 });
});

test("two agents that change one file are told so, and no change is lost", async () => {
  await using place = makePlace({ "a.txt": "one\ntwo\n" });
  const both = Promise.withResolvers<void>();
  let waiting = 0;
  const change = (old: string) => async (_: unknown, index: number) => {
    if (index === 0) return call("Read", { path: "a.txt" });
    if (index === 2) return call("Read", { path: "a.txt" });
    if (index === 4) return say("changed");
    if (index === 1 && ++waiting === 2) both.resolve();
    await both.promise;
    // The one that was first has nothing left to do.
    return call("Edit", { path: "a.txt", edits: [{ old, new: old.toUpperCase() }] });
  };
  await using server = await startModelServer(
    scriptFor({
      go: [reply(invoke("task", "FIRST"), invoke("task", "SECOND")), say("End.")],
      FIRST: change("one"),
      SECOND: change("two"),
    }),
  );
  const { events } = await exec(place, server, ["go"]);
  expect(server.problems).toEqual([]);
  expect(readFileSync(join(place.project, "a.txt"), "utf8")).toBe("ONE\nTWO\n");
  const refusals = agentEvents(events).filter((event) => event.type === "tool.end" && !event.ok);
  expect(JSON.stringify(refusals)).toContain("changed on disk since you last saw it");
});

test("a resumed session is told of the agents that ended with the run before, and of an answer that came too late", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({
      "go on": (request) => say(request.lines.map(({ text }) => text).join("\n")),
      go: async (_, index) => {
        if (index > 0) return say("I wait.");
        return reply(
          invoke("explore", "NEVER", { background: true }),
          invoke("explore", "QUICK", { background: true }),
        );
      },
      NEVER: () => hang(),
      QUICK: () => say("quick answer"),
    }),
  );
  const child = start(place, ["exec", "--output", "jsonl", "--session", "s", ...using(server), "go"]);
  const lines = follow(child);
  await lines.until((line) => line.type === "agent" && line.agent.id === "a2" && line.event.type === "end");
  child.kill("SIGKILL");
  await child.exited;

  const { end } = await exec(place, server, ["--resume", "s", "go on"]);
  expect(end.text).toContain('[koda: the background agent "a1" was stopped when the earlier run ended');
  expect(end.text.split("quick answer")).toHaveLength(2);
  // Told once.
  const { end: again } = await exec(place, server, ["--resume", "s", "go on"]);
  expect(again.text.split('the background agent "a1" was stopped')).toHaveLength(3);
});

const reviewer =
  "---\nname: reviewer\ndescription: Reviews.\nmode: plan\ntools: Read Grep\nmax_turns: 3\n---\nYou are the REVIEWER.\n";

test("exec runs as an agent: with its prompt and tools, and no wider than its mode and limit", async () => {
  await using place = makePlace();
  defineAgent(place, "reviewer", reviewer);
  await using server = await startModelServer([call("Write", { path: "a.txt", content: "a" }), say("Reviewed.")]);
  const { events, end } = await exec(place, server, ["--agent", "reviewer", "--mode", "auto", "--session", "s", "go"]);
  expect(server.problems).toEqual([]);
  expect(server.requests[0]?.tools).toEqual(["Read", "Grep"]);
  expect(server.requests[0]?.lines[0]?.text).toStartWith("You are the REVIEWER.\n\nRules for every agent:");
  expect(events[0]).toMatchObject({ type: "session.start", agent: "reviewer", mode: "plan", limits: { max_turns: 3 } });
  expect([end.status, end.tools.failed, end.resume]).toEqual(["done", 1, expect.stringContaining("--agent reviewer")]);
});

test("a session that ran as an agent goes on as that agent", async () => {
  await using place = makePlace();
  defineAgent(place, "reviewer", reviewer);
  await using server = await startModelServer([say("Reviewed."), say("Again.")]);
  await exec(place, server, ["--agent", "reviewer", "--session", "s", "go"]);
  const { events } = await exec(place, server, ["--resume", "s", "and again"]);
  expect(events[0]).toMatchObject({ agent: "reviewer", mode: "plan", tools: ["Read", "Grep"] });
  expect(server.requests[1]?.raw.slice(0, 200)).toBe(server.requests[0]?.raw.slice(0, 200));

  defineAgent(place, "reviewer", "");
  const { end } = await exec(place, server, ["--resume", "s", "and again"]);
  expect([end.exit, end.error?.message]).toEqual([2, expect.stringContaining('ran as the agent "reviewer"')]);
});

test("an unknown agent is a usage error that names the nearest", async () => {
  await using place = makePlace();
  await using server = await startModelServer([]);
  const { end } = await exec(place, server, ["--agent", "explor", "go"]);
  expect([end.exit, end.error?.message]).toEqual([
    2,
    '--agent explor: no agent has that name (did you mean "explore"?)',
  ]);
});

test("a long answer of an agent is cut, and all of it can be recalled", async () => {
  await using place = makePlace();
  const lines = Array.from({ length: 2_000 }, (_, index) => `finding ${index} `);
  await using server = await startModelServer(
    scriptFor({
      go: (request, index) => {
        if (index === 0) return invoke("explore", "LONG");
        if (index === 2) return say("End.");
        const [, output = ""] = /RecallContext {"output":"([^"]+)"/.exec(resultsIn(request)[0] ?? "") ?? [];
        return call("RecallContext", { output, range: "1999-2000" });
      },
      LONG: [say(lines.join("\n"))],
    }),
  );
  await exec(place, server, ["go"]);
  expect(server.problems).toEqual([]);
  const [answer, recalled] = resultsIn(server.requests.at(-1));
  expect(answer?.length).toBeLessThan(17_000);
  expect(recalled).toContain("finding 1999");
});

test("the user's hooks on calls see those of agents, with the agent's name", async () => {
  await using place = makePlace({ "a.txt": "a\n" }, "/var/tmp");
  configure(place, {
    hooks: [
      { on: "tool.before", match: "Read", command: 'cat >> log; echo \'{"decision":"deny","reason":"not this"}\'' },
      { on: "stop", command: "cat >> log" },
    ],
  });
  await using server = await startModelServer(
    scriptFor({
      go: [invoke("explore", "READ"), say("End.")],
      READ: (request, index) => (index === 0 ? call("Read", { path: "a.txt" }) : say(resultsIn(request)[0] ?? "")),
    }),
  );
  const { end } = await exec(place, server, ["go"]);
  expect(resultsIn(server.requests.at(-1))).toEqual([expect.stringContaining("not this")]);
  expect(end.tools).toEqual({ ok: 1, failed: 0, denied: 1 });
  const log = readFileSync(join(place.project, "log"), "utf8").trimEnd().split("\n");
  expect(log.map((line) => JSON.parse(line))).toMatchObject([
    { hook: "tool.before", agent: "explore", tool: "Read" },
    { hook: "stop", session: end.session },
  ]);
});

test("people see whose each line is: one a call, and how an agent ended", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await using server = await startModelServer(
    scriptFor({
      go: [invoke("explore", "LOOK at a.txt"), say("End.")],
      LOOK: [call("Read", { path: "a.txt" }), say("a")],
    }),
  );
  const { stdout, stderr } = await koda(place, ["exec", ...using(server), "go"]);
  expect(stdout).toBe("End.\n");
  const lines = stderr.split("\n").map((line) => line.replace(/[\d.]+ m?s/, "N ms"));
  expect(lines).toEqual(
    expect.arrayContaining([
      "[a1 explore] LOOK at a.txt",
      "[a1 explore] Read a.txt ✓ N ms",
      "[a1 explore] ✓ done · N ms · tokens: 20 in, 10 out",
      "● InvokeAgent explore ✓ N ms",
      "✓ done · N ms · tokens: 40 in, 20 out · 2 calls · 1 agent",
    ]),
  );
});

test("a run that is an agent gives the agents that it starts no more tools than it has", async () => {
  await using place = makePlace();
  defineAgent(place, "lead", { tools: "Read InvokeAgent" });
  await using server = await startModelServer(
    scriptFor({
      go: [invoke("task", "PART"), say("End.")],
      PART: [call("Write", { path: "a", content: "" }), say("no")],
    }),
  );
  const { end } = await exec(place, server, ["--agent", "lead", "go"]);
  expect(server.requests.slice(0, 2).map(({ tools }) => tools)).toEqual([["Read", "InvokeAgent"], ["Read"]]);
  expect([end.tools, existsSync(join(place.project, "a"))]).toEqual([{ ok: 1, failed: 1, denied: 0 }, false]);
});
