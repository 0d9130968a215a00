import { expect, test } from "bun:test";
import { agentEvents, defineAgent, invoke, resultsIn, scriptFor } from "../support/agents.ts";
import { exec, koda, using } from "../support/koda.ts";
import { call, hang, problem, reply, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

const reviewer = "---\nname: reviewer\ndescription: Reviews.\nmode: plan\n---\nYou are the REVIEWER.\n";

test("--agent says why the file of that name does not count", async () => {
  await using place = makePlace({ ".koda/agents/guard.md": reviewer.replace("reviewer", "guard") });
  defineAgent(place, "explore", "---\nname: explore\ndescription: x\nmode: readonly\n---\nExplore.\n");
  await using server = await startModelServer([say("Guarded.")]);
  const { end: broken } = await exec(place, server, ["--agent", "explore", "go"]);
  expect([broken.exit, broken.error?.message]).toEqual([
    2,
    expect.stringMatching(
      /^--agent explore: The agent ".*agents\/explore\.md" is not loaded: "mode" is "readonly", expected/,
    ),
  ]);
  const { end: ignored } = await exec(place, server, ["--agent", "guard", "go"]);
  expect([ignored.exit, ignored.error?.message]).toEqual([
    2,
    '--agent guard: ".koda/agents/guard.md" needs --trust-project',
  ]);
  const { end: trusted } = await exec(place, server, ["--trust-project", "--agent", "guard", "go"]);
  expect(trusted.text).toBe("Guarded.");
});

test("a run cannot be a fork: the error names the flag that copies a session", async () => {
  await using place = makePlace();
  await using server = await startModelServer([]);
  const { end } = await exec(place, server, ["--agent", "fork", "go"]);
  expect([end.exit, end.error?.message]).toEqual([2, expect.stringContaining("--fork ID copies a session")]);
});

test("an error of several lines is one line of its agent", async () => {
  await using place = makePlace();
  const wrong = [say("seven"), say("seven"), say("seven")];
  await using server = await startModelServer(
    scriptFor({ go: [invoke("task", "COUNT", { schema: { type: "object" } }), say("End.")], COUNT: wrong }),
  );
  const { stderr } = await koda(place, ["exec", ...using(server), "go"]);
  expect(stderr).toContain("[a1 task] ✗ failed: The answer does not match the schema after 2 repairs: ⏎ - (top level)");
});

test("a retry of an agent says when it comes", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({ go: [invoke("task", "WORK"), say("End.")], WORK: [problem(500, "boom"), say("Worked.")] }),
  );
  const { stderr } = await koda(place, ["exec", ...using(server), "go"]);
  expect(stderr).toMatch(/\[a1 task\] ↻ .*"boom"; retry 1 of 5 in \d/);
});

test("a model without tools is told that there are none", async () => {
  await using place = makePlace();
  defineAgent(place, "bare", "---\nname: bare\ndescription: x\ntools: []\n---\nAnswer.\n");
  await using server = await startModelServer([call("Read", { path: "a.txt" }), say("Without.")]);
  await exec(place, server, ["--agent", "bare", "go"]);
  expect(resultsIn(server.requests.at(-1))).toEqual(['Unknown tool "Read". There are no tools: answer without']);
});

test("the first line on stderr names the agent that a run is, in a session that goes on too", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Planned."), say("Again.")]);
  const { stderr } = await koda(place, ["exec", ...using(server), "--agent", "plan", "--session", "s", "go"]);
  expect(stderr.split("\n")[0]).toContain(" · agent plan · mode plan · ");
  const { stderr: resumed } = await koda(place, ["exec", ...using(server), "--resume", "s", "--mode", "auto", "go"]);
  expect(resumed.split("\n")[0]).toContain(" · agent plan · mode plan · ");
});

test("an agent is not started with an empty prompt, and an empty message is not sent", async () => {
  await using place = makePlace();
  const empty = [invoke("explore", ""), invoke("explore", " \n")];
  await using server = await startModelServer([
    reply(...empty, call("TaskSend", { id: "a1", message: "" })),
    say("Then not."),
  ]);
  const { end } = await exec(place, server, ["go"]);
  expect(resultsIn(server.requests.at(-1))).toEqual([
    expect.stringContaining('"prompt" is empty'),
    expect.stringContaining('"prompt" is empty'),
    expect.stringContaining('"message" is empty'),
  ]);
  expect([end.tools.failed, end.agents, server.requests.length]).toEqual([3, undefined, 2]);
});

test("to stop an agent is no failed call", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({
      go: [invoke("explore", "NEVER", { background: true }), call("TaskStop", { id: "a1" }), say("Stopped it.")],
      NEVER: () => hang(),
    }),
  );
  const { end } = await exec(place, server, ["--fail-on", "tool-error", "go"]);
  expect(resultsIn(server.requests.at(-1)).at(-1)).toContain("the agent was stopped");
  expect([end.exit, end.tools, end.agents]).toEqual([
    0,
    { ok: 2, failed: 0, denied: 0 },
    { ok: 0, failed: 0, cancelled: 1 },
  ]);
});

test("an agent in mode plan is told that nothing is writable", async () => {
  await using place = makePlace();
  await using server = await startModelServer(
    scriptFor({
      go: [reply(invoke("explore", "LOOK"), invoke("task", "WORK")), say("End.")],
      LOOK: [say("a")],
      WORK: [say("b")],
    }),
  );
  await exec(place, server, ["go"]);
  const [, look, work] = server.requests.map(({ lines }) => lines.map(({ text }) => text).join("\n"));
  const both = [look, work].sort((a, b) => Number(b?.includes("LOOK")) - Number(a?.includes("LOOK")));
  expect(both[0]).toContain("writable: nothing\n");
  expect(both[1]).toContain(`writable: ${place.project}\n`);
});

test("calls that ask an agent the same in one reply have one answer, and are no loop", async () => {
  await using place = makePlace();
  const same = Array.from({ length: 5 }, () => invoke("explore", "SAME"));
  await using server = await startModelServer(scriptFor({ go: [reply(...same), say("End.")], SAME: [say("Found.")] }));
  const { end } = await exec(place, server, ["go"]);
  expect(server.problems).toEqual([]);
  expect(resultsIn(server.requests.at(-1))).toEqual(same.map(() => "Found."));
  expect([end.exit, end.agents, server.requests.length]).toEqual([0, { ok: 1, failed: 0, cancelled: 0 }, 3]);
});

test("an agent whose schema is refused takes no id from the next one", async () => {
  await using place = makePlace();
  const calls = [invoke("task", "ONE", { schema: { type: "nonsense" } }), invoke("task", "TWO")];
  await using server = await startModelServer(scriptFor({ go: [reply(...calls), say("End.")], TWO: [say("Two.")] }));
  const { events } = await exec(place, server, ["go"]);
  expect(resultsIn(server.requests.at(-1))).toEqual([expect.stringContaining("its schema cannot be used"), "Two."]);
  expect(agentEvents(events, "a1").length).toBeGreaterThan(1);
});

test("what leaves an agent no room in its model's window is not sent", async () => {
  await using place = makePlace();
  const long = "word ".repeat(11_000);
  const window = ["--config", "model_defaults.context_window=30000"];
  const wait = Promise.withResolvers<void>();
  let started: unknown;
  await using server = await startModelServer(
    scriptFor({
      go: (request, index) => {
        if (index === 1) started = resultsIn(request);
        if (index === 0) return reply(invoke("explore", long), invoke("explore", "WAIT", { background: true }));
        if (index === 1) return call("TaskSend", { id: "a2", message: long });
        wait.resolve();
        return say("End.");
      },
      WAIT: async () => (await wait.promise, say("Waited.")),
    }),
  );
  const { end } = await exec(place, server, [...window, "go"]);
  const fault =
    'it has about 15,715 tokens, and at most 15,000 are possible with the model "scripted". ' +
    "Write the long part to a file, and say where it is";
  expect(started).toEqual([
    `The agent was not started: its prompt is too long: ${fault}`,
    'The agent runs in the background as "a2".',
  ]);
  expect(resultsIn(server.requests.at(-1))).toContain(`The message was not sent: ${fault}.`);
  expect([end.exit, end.agents, server.problems]).toEqual([0, { ok: 1, failed: 0, cancelled: 0 }, []]);
});

test("an agent that --allow-tool leaves no tools is a warning, as a run and when it is started", async () => {
  await using place = makePlace();
  defineAgent(place, "reader", { tools: "Read Edit" });
  const script = () => scriptFor({ go: [invoke("reader", "CHILD"), say("End.")], CHILD: [say("No.")] });
  const warnings = async (...flags: string[]) => {
    await using server = await startModelServer(script());
    const { events } = await exec(place, server, [...flags, "go"]);
    const all = events.flatMap((event) => (event.type === "agent" ? event.event : event));
    return all.flatMap((event) => (event.type === "notice" ? event.message : []));
  };
  const allow = ["--allow-tool", "Grep", "--allow-tool", "InvokeAgent"];
  const message =
    'The agent "reader" has no tools: it may use Read, Edit, and --allow-tool leaves only Grep, InvokeAgent';
  expect(await warnings("--agent", "reader", ...allow)).toEqual([message]);
  expect(await warnings(...allow)).toEqual([message]);
  expect(await warnings(...allow, "--allow-tool", "ApplyPatch")).toEqual([]);
});
