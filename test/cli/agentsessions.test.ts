import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../lib/session/store.ts";
import { sessionPath } from "../../lib/worktree/record.ts";
import { shareSnapshots } from "../../lib/worktree/share.ts";
import { scriptFor } from "../support/agents.ts";
import { databaseIn, idsIn, recordAgents } from "../support/agentsessions.ts";
import { exec, koda } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

async function session(place: Place, ...args: string[]): Promise<string> {
  const { exit, stdout, stderr } = await koda(place, ["session", ...args]);
  expect([exit, stderr]).toEqual([0, ""]);
  return stdout;
}

const json = async (place: Place, ...args: string[]) => JSON.parse(await session(place, ...args, "--json"));

/** The lines of a text that are one of these, in their order. */
const linesIn = (text: string, ...lines: string[]) => text.split("\n").filter((line) => lines.includes(line));

test("list leaves the sessions of agents out, and counts what they cost in", async () => {
  await using place = makePlace();
  recordAgents(place);
  expect(await session(place, "list")).toMatch(/^ID .* DIRECTORY .*\nparent +\d[sm] +1 +75 +\$1\.25 +done .*\n$/);
  const listed = await json(place, "list");
  expect(listed).toMatchObject([{ id: "parent", tokens: 75, cost_usd: 1.25 }]);
  expect(listed[0]).not.toHaveProperty("agent");
});

test("list --children has them with the agent's name, parent and root", async () => {
  await using place = makePlace();
  const { explore, fork, review } = recordAgents(place);
  const listed: { id: string }[] = await json(place, "list", "--children");
  const child = { parent: "parent", root: "parent", tokens: 15, cost_usd: 0.25 };
  const expected = [
    { id: explore, agent: "explore", title: "Where is it?", outcome: "done", turns: 1, ...child },
    { id: fork, agent: "fork", title: "Write the test", outcome: "done", turns: 2, ...child },
    { id: review, agent: "review", title: "Review it", outcome: "interrupted", turns: 1, ...child },
  ];
  expect(listed.map(({ id }) => id).sort()).toEqual([explore, fork, review, "parent"].sort());
  for (const one of expected) expect(listed.find(({ id }) => id === one.id)).toMatchObject(one);
  const table = await session(place, "list", "--children");
  for (const begin of ["parent ", explore.slice(0, 8), fork.slice(0, 8)]) expect(table).toContain(`\n${begin}`);
  for (const agent of ["exp", "rev", "for"]) expect(table).toMatch(new RegExp(` \\[${agent}.*\n`));
});

test("show has what an agent did behind its call, and at the end what no result names", async () => {
  await using place = makePlace();
  const { explore, review } = recordAgents(place);
  const shown = await session(place, "show", "parent");
  expect(shown.slice(shown.indexOf("[user]")).replaceAll(/\(([\da-f-]{8,})\)/g, "(ID)")).toBe(`[user]
Fix the parser

[assistant]
I ask around.

[call InvokeAgent]
{"prompt":"c1"}

[call InvokeAgent]
{"prompt":"c2"}

[result of InvokeAgent]
In lib/walrus.

[agent explore (ID)]

  [user]
  Where is it?

  [assistant]
  In lib/walrus.

[result of InvokeAgent]
Started.

[agent fork (ID)]

  [user]
  Write the test

  [assistant]
  It is written.

[koda]
It is written.

[assistant]
All done.

[agent review (ID)]

  [user]
  Review it

  [assistant]
  I read.
`);
  const { session: parent, items, children } = await json(place, "show", "parent");
  expect(parent).toMatchObject({ id: "parent", tokens: 75, cost_usd: 1.25 });
  expect(items.map(({ kind, agent }: { kind: string; agent?: string }) => [kind, agent])).toContainEqual([
    "result",
    explore,
  ]);
  const kinds = (of: { items: { kind: string }[] }) => of.items.map(({ kind }) => kind);
  expect(children.map((child: { session: { agent: string } }) => child.session.agent)).toEqual([
    "explore",
    "fork",
    "review",
  ]);
  expect(children.map(kinds)).toEqual([
    ["turn_start", "user", "assistant", "turn_end"],
    ["turn_start", "user", "assistant", "turn_end"],
    ["turn_start", "user", "assistant"],
  ]);
  expect(children[2]).toMatchObject({ session: { id: review, parent: "parent", root: "parent" }, children: [] });
});

test("an agent's session is shown alone too, and names its parent", async () => {
  await using place = makePlace();
  const { explore, fork } = recordAgents(place);
  expect(await session(place, "show", explore)).toStartWith(`session ${explore}, agent explore of parent\n`);
  expect(await session(place, "export", explore)).toContain("\n- Agent: `explore of parent`\n");
  const shown = await session(place, "show", fork);
  expect(linesIn(shown, "Fix the parser", "Write the test")).toEqual(["Fix the parser", "Write the test"]);
  const short = /agent fork \(([\da-f-]+)\)/.exec(await session(place, "show", "parent"))?.[1] ?? "?";
  expect(await session(place, "show", short)).toBe(shown);
});

test("export has agents in their places in every format", async () => {
  await using place = makePlace();
  const { explore, fork, review } = recordAgents(place);

  const markdown = await session(place, "export", "parent");
  for (const figure of ["- Agents: `3`", "- Tokens: `75`", "- Cost: `$1.2500`"]) expect(markdown).toContain(figure);
  const said = ["Started.", "> It is written.", "> > Where is it?", "All done.", "> > Review it"];
  expect(linesIn(markdown, ...said)).toEqual([
    "> > Where is it?",
    "Started.",
    "> It is written.",
    "All done.",
    "> > Review it",
  ]);
  expect(markdown.match(/^### Agent (explore|fork|review) \([\da-f-]+\)$/gm)).toHaveLength(3);

  const html = await session(place, "export", "parent", "--format", "html");
  const texts = ["<b>InvokeAgent</b>", "Agent explore (", "Where is it?", "</details>", "Agent fork (", "All done."];
  let from = 0;
  for (const text of [...texts, "Agent review (", "Review it", "</details>"]) {
    const at = html.indexOf(text, from);
    expect([text, at]).not.toEqual([text, -1]);
    from = at;
  }

  const lines = (await session(place, "export", "parent", "--format", "jsonl")).trimEnd().split("\n");
  const records = lines.map((line) => JSON.parse(line));
  expect(records[0]).toMatchObject({ kind: "session", id: "parent", tokens: 75 });
  const behind = (id: string) => records.slice(records.findIndex((record) => record.agent === id) + 1)[0];
  expect(behind(explore)).toMatchObject({ kind: "agent", id: explore, agent: "explore", parent: "parent" });
  expect(records.filter((record) => record.session === fork)).toMatchObject([
    { seq: 4, kind: "turn_start" },
    { kind: "user" },
    { kind: "assistant" },
    { kind: "turn_end" },
  ]);
  expect(records.slice(-3).map((record) => record.session)).toEqual([review, review, review]);
});

test("an ATIF trajectory has agents as trajectories that results refer to", async () => {
  await using place = makePlace();
  const { explore, fork, review } = recordAgents(place);
  const atif = JSON.parse(await session(place, "export", "parent", "--format", "atif"));
  const ids = atif.subagent_trajectories.map((each: { trajectory_id: string }) => each.trajectory_id);
  expect(ids).toEqual([explore, fork, review]);
  const [calls] = atif.steps.filter((step: { observation?: unknown }) => step.observation !== undefined);
  expect(calls.observation.results).toEqual([
    {
      source_call_id: "c1",
      content: "In lib/walrus.",
      subagent_trajectory_ref: [{ trajectory_id: explore, session_id: explore }],
    },
    {
      source_call_id: "c2",
      content: "Started.",
      subagent_trajectory_ref: [{ trajectory_id: fork, session_id: fork }],
    },
  ]);
  // By the format, the cost is that of all, and the tokens are those of the steps.
  expect(atif.final_metrics).toMatchObject({ total_cost_usd: 1.25, total_prompt_tokens: 20 });
  expect(atif.subagent_trajectories[0]).toMatchObject({
    schema_version: "ATIF-v1.7",
    session_id: explore,
    extra: { agent: "explore", parent: "parent" },
    steps: [
      { step_id: 1, source: "user", message: "Where is it?" },
      { step_id: 2, source: "agent", message: "In lib/walrus." },
    ],
    final_metrics: { total_cost_usd: 0.25, total_prompt_tokens: 10 },
  });
});

test("search finds what agents said, and names them", async () => {
  await using place = makePlace();
  const { explore } = recordAgents(place);
  const found = await json(place, "search", "walrus");
  expect(found).toContainEqual({
    session: explore,
    seq: 3,
    kind: "assistant",
    snippet: "In lib/walrus.",
    agent: "explore",
    parent: "parent",
  });
  expect(found).toContainEqual({ session: "parent", seq: 4, kind: "result", snippet: "In lib/walrus." });
  expect(await session(place, "search", "walrus")).toMatch(/ assistant  \[explore\] Where is it\?\n/);
});

test("rm deletes a session with its agents, and an agent's session alone", async () => {
  await using place = makePlace();
  const { explore, fork, review } = recordAgents(place);
  expect(await session(place, "rm", explore)).toBe(`Deleted ${explore}  Where is it?\n`);
  expect(await session(place, "show", "parent")).toContain(
    `In lib/walrus.\n\n[agent ${explore}: no session of it is left]\n`,
  );
  for (const format of ["markdown", "html"])
    expect(await session(place, "export", "parent", "--format", format)).toContain(": no session of it is left");
  const jsonl = await session(place, "export", "parent", "--format", "jsonl");
  expect(jsonl).toContain(`{"kind":"agent","id":"${explore}","removed":true}\n`);
  const atif = JSON.parse(await session(place, "export", "parent", "--format", "atif"));
  expect(atif.subagent_trajectories).toHaveLength(2);

  expect((await json(place, "rm", "parent")).removed.sort()).toEqual([fork, review, "parent"].sort());
  expect(idsIn(place)).toEqual([]);
  recordAgents(place);
  expect(await session(place, "rm", "parent")).toBe("Deleted parent  Fix the parser\nDeleted 3 agents of it\n");
  expect(idsIn(place)).toEqual([]);
});

test("a session whose agent a process holds is neither removed nor pruned", async () => {
  await using place = makePlace();
  const { explore } = recordAgents(place);
  const before = idsIn(place);
  await using store = openStore(databaseIn(place));
  const busy = await store.open(explore);
  const { exit, stderr } = await koda(place, ["session", "rm", "parent"]);
  expect(exit).toBe(10);
  expect(stderr).toMatch(
    new RegExp(
      `^koda: Session "${explore}" is in use: process ${process.pid} on host ".*" has held it for \\d+ s\\. ` +
        'It is that of an agent of "parent", which can be deleted when that process has ended\\.\n$',
    ),
  );
  expect(await json(place, "prune", "--older-than", "1ms")).toMatchObject({
    removed: [],
    in_use: [expect.any(String)],
  });
  expect(idsIn(place)).toEqual(before);
  busy.close();
});

test("prune deletes agents with their session, and never without it", async () => {
  await using place = makePlace();
  const { explore, fork, review } = recordAgents(place);
  const prune = (...args: string[]) => session(place, "prune", "--older-than", "1d", ...args);
  const nothing = "Nothing to delete: no session is older than 1d\n";
  age(place, "agent IS NOT NULL");
  expect(await prune()).toBe(nothing);
  age(place, "agent IS NULL");
  age(place, `id = '${review}'`, Date.now());
  expect(await prune()).toBe(nothing);
  age(place, "TRUE");
  expect(await prune("--dry-run")).toMatch(/^ID .*\nparent .*\nWould delete 1 session and 3 agents\n$/);
  expect(JSON.parse(await prune("--json")).removed.sort()).toEqual([explore, fork, review, "parent"].sort());
  expect(idsIn(place)).toEqual([]);
});

/** Sets the last activity of some sessions. */
function age(place: Place, which: string, updatedAt = 0): void {
  using db = new Database(databaseIn(place));
  db.run(`UPDATE session SET updated_at = ${updatedAt} WHERE ${which}`);
}

test("a fork shows the agents of the turns that it shares for as long as they exist", async () => {
  await using place = makePlace();
  const { explore, review } = recordAgents(place);
  const copy = (await session(place, "fork", "parent")).trim();
  expect(idsIn(place)).toHaveLength(5);
  const shown = await session(place, "show", copy);
  expect(linesIn(shown, "  Where is it?", "  Write the test", "  Review it")).toEqual([
    "  Where is it?",
    "  Write the test",
  ]);
  // What they cost is in the figures of the session that they worked for.
  expect(await json(place, "list")).toContainEqual(expect.objectContaining({ id: copy, tokens: null }));
  await session(place, "rm", "parent");
  expect(idsIn(place)).toEqual([copy]);
  expect(await session(place, "show", copy)).toContain(`[agent ${explore}: no session of it is left]`);
  expect(await session(place, "show", copy)).not.toContain(review);
});

test("an agent's session is not continued, but its parent and a fork of it are", async () => {
  await using place = makePlace();
  const { explore } = recordAgents(place);
  await using server = await startModelServer(() => say("ok"));
  const told =
    `Session "${explore}" is that of agent "explore" of session "parent": ` +
    `continue that one with --resume parent, or copy this one with --fork ${explore}`;
  for (const flag of ["--resume", "--session"]) {
    const { end } = await exec(place, server, [flag, explore, "go on"]);
    expect(end).toMatchObject({ exit: 2, error: { code: "usage", message: told } });
  }
  expect(server.requests).toEqual([]);
  expect((await exec(place, server, ["--last", "go on"])).end.session).toBe("parent");
  const fork = await exec(place, server, ["--fork", explore, "go on"]);
  expect(fork.end).toMatchObject({ status: "done" });
  expect(JSON.stringify(server.requests[1]?.lines)).toContain("In lib/walrus.");
  expect((await json(place, "list")).map(({ id }: { id: string }) => id).sort()).toEqual(
    [fork.end.session, "parent"].sort(),
  );
});

test("an agent's session is not rolled back", async () => {
  await using place = makePlace();
  const { explore } = recordAgents(place);
  const { exit, stderr } = await koda(place, ["session", "rollback", explore, "1"]);
  expect([exit, stderr]).toEqual([
    2,
    `koda: Session "${explore}" is that of agent "explore" of session "parent": ` +
      'roll back "parent", which takes it back too\n',
  ]);
});

test("the snapshots of an agent go with its session, and not before", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await using server = await startModelServer([call("Bash", { command: "echo b > a.txt" }), say("ok")]);
  await exec(place, server, ["--session", "other", "change it"]);
  const { explore } = recordAgents(place);
  const snapshots = join(place.home, ".local/share/koda/snapshots");
  shareSnapshots(snapshots, { from: "other", to: explore });
  const kept = () => existsSync(sessionPath({ snapshots, session: explore }));
  await session(place, "rm", "other");
  expect(kept()).toBe(true);
  await session(place, "rm", "parent");
  expect(kept()).toBe(false);
});

test("a run's session has what its agents did", async () => {
  await using place = makePlace({ "a.txt": "the secret is 42\n" });
  const invoke = (agent: string, prompt: string) => call("InvokeAgent", { agent, prompt });
  await using server = await startModelServer(
    scriptFor({
      "fix it": [invoke("explore", "EXPLORE the secret"), invoke("fork", "FORK it"), say("It is 42.")],
      EXPLORE: [call("Read", { path: "a.txt" }), say("a.txt:1 says 42")],
      FORK: [say("Forked.")],
    }),
  );
  const { end } = await exec(place, server, ["--session", "run", "fix it"]);
  expect([end.status, server.problems]).toEqual(["done", []]);
  const { session: run, items, children } = await json(place, "show", "run");
  expect(run.tokens).toBe((end.usage.input ?? 0) + (end.usage.output ?? 0));
  const started = items.flatMap((item: { kind: string; agent?: string }) => item.agent ?? []);
  expect(children.map((child: { session: { id: string; agent: string } }) => child.session.id)).toEqual(started);
  expect(children).toMatchObject([{ session: { agent: "explore" } }, { session: { agent: "fork" } }]);
  const shown = await session(place, "show", "run");
  expect(linesIn(shown, "fix it", "  EXPLORE the secret", "  a.txt:1 says 42", "  Forked.", "It is 42.")).toEqual([
    "fix it",
    "  EXPLORE the secret",
    "  a.txt:1 says 42",
    "  Forked.",
    "It is 42.",
  ]);
});
