import { describe, expect, test } from "bun:test";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { agentEvents, defineAgent, invoke, resultsIn, scriptFor } from "../support/agents.ts";
import { everyTier } from "../support/denied.ts";
import { fingerprint } from "../support/fingerprint.ts";
import { binary, checkLines, exec, type Line, using } from "../support/koda.ts";
import { serverOf } from "../support/mcp.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { startModelServer, type Script } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";
import { runGit } from "../support/worktree.ts";
import { repositoryWrites, writes } from "../support/writes.ts";

const bash = (command: string, more: object = {}) => call("Bash", { command, ...more });

/** A repository whose user compares with a program that writes. Not in /tmp, which commands find replaced. */
function repository(files: Record<string, string> = {}): Place {
  const place = makePlace({ there: "there\n", other: "other\n", tracked: "one\n", ...files }, "/var/tmp");
  const git = (...args: string[]) => runGit(place.project, place.env, args);
  git("init", "-q");
  git("add", ".");
  git("commit", "-q", "-m", "one");
  git("config", "diff.external", "echo x > made-by-git; true");
  place.write("tracked", "two\n");
  place.write("untracked", "");
  symlinkSync("there", join(place.project, "link"));
  return place;
}

const fileCalls = [
  call("Write", { path: "made", content: "x" }),
  call("Write", { path: "link", content: "x" }),
  call("Write", { path: "/proc/self/cwd/made", content: "x" }),
  call("Write", { path: ".git/hooks/post-checkout", content: "x" }),
  call("Write", { path: "/tmp/made", content: "x" }),
  call("Edit", { path: "there", edits: [{ old: "there", new: "x" }] }),
  call("ApplyPatch", { patch: "*** Begin Patch\n*** Delete File: there\n*** End Patch" }),
  call("Delete", { path: "there" }),
  call("Delete", { path: ".", recursive: true }),
];

const parent = [
  reply(bash(": > begun; sleep 1000", { background: true }), bash("until test -e begun; do sleep 0.01; done")),
  invoke("reader", "CHILD"),
  reply(call("TaskOutput", { id: "t1" }), bash("git diff >/dev/null; cat made-by-git")),
];

const otherCalls = [
  bash("sleep 0.2; echo x > made", { background: true }),
  bash("git diff", { background: true }),
  call("s__act", { command: "echo x > made" }),
  call("WebFetch", { url: "https://example.test/?made" }),
  call("Skill", { name: "writer" }),
  bash("./there; koda exec -m demo 'write'"),
  bash(`${binary} exec -m demo write`),
  call("TaskStop", { id: "t1" }),
  call("TaskSend", { id: "a1", message: "write" }),
  call("InvokeAgent", { agent: "task", prompt: "write" }),
];

type ToolEnd = Extract<Line, { type: "tool.end" }>;
const endsOf = (events: readonly Line[], id: string) =>
  agentEvents(events, id).filter((event): event is ToolEnd => event.type === "tool.end");

describe.each(everyTier)("in the tier $name", ({ name, prefix }) => {
  async function run(place: Place, script: Script, ...flags: string[]) {
    await using server = await startModelServer(script);
    const ran = await runIn(place, [...prefix(place), binary, "exec", "--json", ...using(server), ...flags, "go"]);
    const checked = checkLines(ran);
    expect(server.problems).toEqual([]);
    expect(checked.events[0]).toMatchObject({ sandbox: { backend: name } });
    return { ...checked, requests: server.requests };
  }

  test("an agent in mode plan of a run in mode auto changes nothing, whatever it tries", async () => {
    await using place = repository({});
    defineAgent(place, "reader", { mode: "plan" });
    configure(place, { mcp: { servers: { s: serverOf({ tools: [{ name: "act", does: "run" }] }) } } });
    const looks: Record<string, string>[] = [];
    const ways = [...writes, ...repositoryWrites].map(([, command]) => bash(command));
    const script = scriptFor({
      go: (_, index) => {
        looks.push(fingerprint(place.project, ["."], { times: true }));
        return parent[index] ?? say("End.");
      },
      CHILD: [reply(...fileCalls, ...ways), reply(...otherCalls), bash("git diff; git status --short"), say("No.")],
    });
    const { events, end, requests } = await run(place, script, "--allow-git");
    expect(looks[2]).toEqual(looks[1] ?? {});

    const tried = endsOf(events, "a1");
    expect(tried).toHaveLength(fileCalls.length + ways.length + otherCalls.length + 1);
    const rules = new Set(tried.flatMap(({ denied }) => denied ?? []));
    expect(rules).toContain("mode plan: write");
    expect(rules).toContain("mode plan: remote");
    // Its parent's task goes on, and what was only read has run: the same command writes for its parent.
    expect(resultsIn(requests.at(-1)).slice(-2)).toEqual([
      expect.stringMatching(/^t1 is running/),
      expect.stringContaining("x"),
    ]);
    expect(tried.at(-1)).toMatchObject({ ok: true });
    expect(end.agents).toEqual({ ok: 1, failed: 0, cancelled: 0 });
  }, 30_000);

  test("an agent reads what its parent left for it, in a project that lies in the place of another /tmp", async () => {
    await using place = makePlace({ "a.txt": "a\n" });
    defineAgent(place, "reader", { mode: "plan" });
    const leave = bash('echo log > "$TMPDIR/log"; echo "$TMPDIR"');
    let path = "";
    const script = scriptFor({
      go: (request, index) => {
        path = /\/\S+$/m.exec(resultsIn(request)[0] ?? "")?.[0] ?? "";
        return [leave, invoke("reader", "CHILD"), say("End.")][index] ?? say("");
      },
      CHILD: (_, index) =>
        index > 0 ? say("Yes.") : reply(bash(`cat ${path}/log a.txt`), call("Read", { path: `${path}/log` })),
    });
    const { events } = await run(place, script);
    const summaries = endsOf(events, "a1").map(({ ok, summary }) => `${ok}: ${summary}`);
    expect(summaries).toEqual(
      expect.arrayContaining(["true: 1\tlog", expect.stringMatching(/^true: Exit code: 0 .*\nlog\na$/s)]),
    );
  });
});

/** The rules by which calls were denied, in their order; null for those that were not. */
const rulesOf = (ends: readonly ToolEnd[]) => ends.map(({ denied = null }) => denied);

const write = (path: string) => call("Write", { path, content: "x\n" });
const twoWays = reply(write("a"), bash("echo x > b"));

test.each([
  ["plan", "mode plan: write"],
  ["safe", "mode safe: write"],
])("an agent whose definition says auto, and a fork, are in mode %s with their parent", async (mode, rule) => {
  await using place = makePlace();
  defineAgent(place, "bold", { mode: "auto" });
  await using server = await startModelServer(
    scriptFor({
      go: [reply(invoke("bold", "BOLD"), invoke("fork", "FORK")), say("End.")],
      BOLD: [twoWays, say("No.")],
      FORK: [reply(write("c"), call("InvokeAgent", { agent: "task", prompt: "FREE" })), say("Neither.")],
    }),
  );
  const { events, end } = await exec(place, server, ["--mode", mode, "go"]);
  expect(server.problems).toEqual([]);
  expect(rulesOf(endsOf(events, "a1"))).toEqual([rule, rule]);
  expect(rulesOf(endsOf(events, "a2"))).toEqual([rule, "an agent cannot start agents"]);
  expect([end.files_changed, end.tools.denied]).toEqual([0, 4]);
  for (const start of agentEvents(events).filter((event) => event.type === "session.start"))
    expect(start).toMatchObject({ mode });
});

test("an agent is offered the tools of its definition that the flags leave, and has no others", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  defineAgent(place, "narrow", { tools: "Read Write Bash InvokeAgent" });
  const tries = [call("Read", { path: "a.txt" }), write("b"), call("Edit", { path: "a.txt", edits: [] }), bash("true")];
  const script = () =>
    scriptFor({ go: [invoke("narrow", "CHILD"), say("End.")], CHILD: [reply(...tries), say("No.")] });
  const offered = async (...flags: string[]) => {
    await using server = await startModelServer(script());
    const { events } = await exec(place, server, [...flags, "go"]);
    const ran = endsOf(events, "a1").flatMap(({ tool, summary }) => (summary.startsWith("Unknown tool") ? [] : tool));
    return [server.requests[1]?.tools, ran];
  };
  expect(await offered()).toEqual([
    ["Read", "Write", "Bash"],
    ["Read", "Write", "Bash"],
  ]);
  const denying = ["--deny-tool", "Write", "--deny-tool", "Bash"];
  expect(await offered(...denying)).toEqual([["Read"], ["Read"]]);
  expect(await offered("--allow-tool", "InvokeAgent", "--allow-tool", "Bash")).toEqual([["Bash"], ["Bash"]]);
});

test("the skill that narrows a run narrows its agents", async () => {
  await using place = makePlace();
  const skill = "---\nname: look\ndescription: Looks.\nallowed-tools: InvokeAgent Bash(echo:*)\n---\nLook.\n";
  await Bun.write(join(place.home, ".config/koda/skills/look/SKILL.md"), skill);
  const tries = reply(write("a"), bash("touch b"), bash("echo fine"));
  await using server = await startModelServer(
    scriptFor({
      go: [call("Skill", { name: "look" }), reply(invoke("task", "TASK"), invoke("fork", "FORK")), say("End.")],
      TASK: [tries, say("No.")],
      FORK: [tries, say("No.")],
    }),
  );
  const { events, end } = await exec(place, server, ["go"]);
  const rule = 'the skill "look" allows only InvokeAgent, Bash(echo:*)';
  for (const id of ["a1", "a2"]) expect(rulesOf(endsOf(events, id))).toEqual([rule, rule, null]);
  expect([end.files_changed, end.agents]).toEqual([0, { ok: 2, failed: 0, cancelled: 0 }]);
});

test("the user's hooks see the calls of agents, and what they change is judged by the agent's own mode", async () => {
  await using place = makePlace({}, "/var/tmp");
  defineAgent(place, "reader", { mode: "plan" });
  const change = `if grep -q rewrite-me; then echo '{"input":{"command":"echo x > made"}}'; fi`;
  const log = join(place.project, "log");
  const hooks = [
    { on: "tool.before", match: "Bash", command: change },
    { on: "tool.after", match: "Bash|List", command: "cat >> log; echo >> log" },
    { on: "prompt", command: "echo prompt >> log" },
  ];
  const look = call("List", { path: "." });
  const script = scriptFor({
    go: [bash("true rewrite-me"), invoke("reader", "CHILD"), say("End.")],
    CHILD: [reply(bash("true rewrite-me"), look, bash("cat made")), say("No.")],
  });
  await using server = await startModelServer(script);
  const { events } = await exec(place, server, ["--config", `hooks=${JSON.stringify(hooks)}`, "go"]);
  expect(server.problems).toEqual([]);
  expect(rulesOf(endsOf(events, "a1"))).toEqual(["mode plan: write", null, null]);
  expect(readFileSync(join(place.project, "made"), "utf8")).toBe("x\n");
  const [prompt, ...logged] = readFileSync(log, "utf8").match(/.+/g) ?? [];
  expect(prompt).toBe("prompt");
  const sessions = logged.map((line) => JSON.parse(line));
  expect(sessions.map(({ tool, input }) => [tool, input.command])).toEqual([
    ["Bash", "echo x > made"],
    ["List", undefined],
    ["Bash", "cat made"],
  ]);
  expect(new Set(sessions.map(({ session }) => session)).size).toBe(2);
});
