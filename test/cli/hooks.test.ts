import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../lib/errors.ts";
import { allPids } from "../../lib/system/procstat.ts";
import { invoke, scriptFor } from "../support/agents.ts";
import { asInDocker, programWithout } from "../support/denied.ts";
import { binary, checkLines, type EndLine, exec, follow, type Line, start, using } from "../support/koda.ts";
import { serverOf } from "../support/mcp.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { type Script, startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";
import { until } from "../support/until.ts";

type Hook = { on: string; command: string; match?: string; timeout?: string; required?: boolean };
type Given = { args?: readonly string[]; files?: Record<string, string>; prompt?: string };

async function run(script: Script, hooks: readonly Hook[], { args = [], files = {}, prompt = "do it" }: Given = {}) {
  // Not below /tmp, which is another one for commands.
  await using place = makePlace(files, "/var/tmp");
  configure(place, { hooks });
  await using server = await startModelServer(script);
  const ran = await exec(place, server, [prompt, ...args]);
  expect(server.problems).toEqual([]);
  return { ...ran, log: logged(place), requests: server.requests.map(({ lines }) => lines.map(textOf)) };
}

const textOf = ({ text }: { text?: string | undefined }) => text ?? "";

/** The inputs that hooks have written to the project's log. */
function logged({ project }: Place): Record<string, unknown>[] {
  const file = join(project, "log");
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const log = "cat >> log";
/** A hook's decision, printed by a shell. */
const printing = (decision: unknown) => `cat >/dev/null; echo '${JSON.stringify(decision)}'`;

const of = <T extends Line["type"]>(events: readonly Line[], type: T) =>
  events.filter((event): event is Extract<Line, { type: T }> => event.type === type);
const notices = (events: readonly Line[]) =>
  of(events, "notice").flatMap(({ level, code, message }) => (code === "hook" ? [`${level}: ${message}`] : []));
const ending = ({ status, exit, error }: EndLine) => [`${status} ${exit}`, error?.code];

const write = (path: string, content = "x\n") => call("Write", { path, content });

test("every moment of a run has its hook, with its own input", async () => {
  const moments = ["session.start", "prompt", "tool.before", "tool.after", "stop", "turn.end", "session.end"];
  const {
    end,
    log: inputs,
    events,
  } = await run(
    [write("a.txt"), say("All done.")],
    moments.map((on) => ({ on, command: log })),
  );
  expect([...ending(end), notices(events)]).toEqual(["done 0", undefined, []]);
  const [start] = of(events, "session.start");
  const about = { session: start?.session, cwd: start?.cwd };
  const callOf = { tool: "Write", call: expect.any(String), input: { path: "a.txt", content: "x\n" } };
  const writes = [`${start?.cwd}/a.txt`];
  expect(inputs).toEqual([
    { hook: "session.start", ...about, turn: 0, source: "startup" },
    { hook: "prompt", ...about, turn: 1, prompt: "do it" },
    { hook: "tool.before", ...about, turn: 1, ...callOf, writes },
    { hook: "tool.after", ...about, turn: 1, ...callOf, writes, result: { ok: true, text: expect.any(String) } },
    { hook: "stop", ...about, turn: 1, last_message: "All done." },
    { hook: "turn.end", ...about, turn: 1, input: "do it", last_message: "All done.", reason: "complete" },
    { hook: "session.end", ...about, turn: 1, status: "done", last_message: "All done." },
  ]);
  const types = events.map(({ type }) => type);
  expect(types.at(-2)).toBe("turn.end");
});

test("a hook that exits with 2 denies a call, and the model reads its reason", async () => {
  const deny = "echo 'run the tests first' >&2; exit 2";
  const hooks = [
    { on: "tool.before", match: "Write", command: deny },
    { on: "tool.after", command: log },
  ];
  const { end, events, requests, log: inputs } = await run([write("a.txt"), say("Blocked.")], hooks);
  const [ended] = of(events, "tool.end");
  expect(ended).toMatchObject({ ok: false, denied: "hook \"echo 'run the tests first' >&…\": run the tests first" });
  expect(requests[1]?.at(-1)).toBe("Denied by the user's hook: run the tests first");
  expect([end.tools, end.files_changed, inputs]).toEqual([{ ok: 0, failed: 0, denied: 1 }, 0, []]);
  const strict = await run([write("a.txt"), say("Blocked.")], hooks, { args: ["--fail-on", "denied"] });
  expect(strict.end.exit).toBe(3);
});

test("a denial of any hook wins, whatever the others say, and all of them run", async () => {
  const hooks = [
    { on: "tool.before", command: printing({ decision: "allow" }) },
    { on: "tool.before", command: printing({ decision: "deny", reason: "one" }) },
    { on: "tool.before", command: printing({ decision: "deny", reason: "two" }) },
    { on: "tool.before", command: `${log}; echo '{"decision":"allow"}'` },
  ];
  const { end, requests, log: inputs } = await run([write("a.txt"), say("Blocked.")], hooks);
  expect(requests[1]?.at(-1)).toBe("Denied by the user's hook: one\ntwo");
  expect([end.tools.denied, inputs.length]).toEqual([1, 1]);
});

test("a hook sees only the tools that its match names, by any name that the model may use for them", async () => {
  const script = [reply(call("List", { path: "." }), write("a.txt"), write("b.txt")), say("Done.")];
  const only = await run(script, [{ on: "tool.before", match: "Writ|List", command: log }]);
  expect(only.log.map(({ tool }) => tool)).toEqual(["List"]);
  const patch = "*** Begin Patch\n*** Add File: c.txt\n+c\n*** End Patch";
  const guarded = await run(
    [call("ApplyPatch", { patch }), say("Done.")],
    [{ on: "tool.before", match: "Write", command: log }],
    { args: ["--edit", "patch"] },
  );
  expect(guarded.log.map(({ tool }) => tool)).toEqual(["ApplyPatch"]);
});

test("a match that names no tool is told, since its hook would never run", async () => {
  const matched = ["bash|Write", "Wriet", "files__read|Write", ".*bash", "Finish|ApplyPatch|Edit"];
  const hooks = matched.map((match) => ({ on: "tool.before", match, command: "true" }));
  const { events } = await run([say("Done.")], hooks);
  const told = (name: string, meant: string) =>
    `warn: The hook "true" (tool.before) may not run when it should: no tool is called "${name}" (did you mean "${meant}"?)`;
  expect(notices(events)).toEqual([told("bash", "Bash"), told("Wriet", "Write")]);
});

test("calls of a server's tools have hooks too", async () => {
  await using place = makePlace({}, "/var/tmp");
  const annotations = { readOnlyHint: true };
  const echo = { name: "echo", does: "echo", annotations } as const;
  const hooks = [
    { on: "tool.before", match: "files__.*", command: `${log}; echo '{"input":{"a":2}}'` },
    { on: "tool.before", match: "files__other", command: "echo no other >&2; exit 2" },
  ];
  configure(place, { hooks, mcp: { servers: { files: serverOf({ tools: [echo, { ...echo, name: "other" }] }) } } });
  await using server = await startModelServer([[call("files__echo", { a: 1 }), call("files__other")], say("Done.")]);
  const { end, events } = await exec(place, server, ["go"]);
  expect([end.tools, notices(events)]).toEqual([{ ok: 1, failed: 0, denied: 1 }, []]);
  expect(of(events, "tool.end")[0]?.summary).toEndWith('{"a":2}');
  expect(logged(place).map(({ tool, input }) => [tool, input])).toEqual([
    ["files__echo", { a: 1 }],
    ["files__other", {}],
  ]);
});

test("a rewritten input is what runs, what is shown, and what the model is told", async () => {
  const input = { path: "b.txt", content: "safe\n" };
  const hooks = [
    { on: "tool.before", command: printing({ input: { path: "c.txt", content: "lost\n" } }) },
    { on: "tool.before", command: `cat >> log; echo '${JSON.stringify({ input })}'` },
  ];
  const { end, events, requests, log: inputs } = await run([write("a.txt"), say("Done.")], hooks);
  expect(of(events, "diff")[0]?.files.map(({ path }) => path)).toEqual(["b.txt", "log"]);
  expect(of(events, "tool.start")[0]?.input).toEqual(input);
  expect(inputs[0]).toMatchObject({ input: { path: "c.txt", content: "lost\n" } });
  expect(inputs[0]).not.toHaveProperty("writes");
  expect(requests[1]?.at(-1)).toContain('changed the arguments of this call to {"path":"b.txt","content":"safe\\n"}');
  expect(end.tools.ok).toBe(1);
});

test("a rewritten input that does not match the tool's schema runs nothing", async () => {
  const hooks = [{ on: "tool.before", command: printing({ input: { file: "a.txt" } }) }];
  const { end, requests } = await run([write("a.txt"), say("Done.")], hooks);
  expect(requests[1]?.at(-1)).toMatch(/the user's hook changed[\s\S]*do not match its schema/);
  expect([end.tools, end.files_changed]).toEqual([{ ok: 0, failed: 1, denied: 0 }, 0]);
});

test("the gate judges a rewritten input again", async () => {
  const outside = { path: "../outside.txt", content: "x" };
  const rows: [Hook["match"], unknown, RegExp][] = [
    ["Write", outside, /^outside: /],
    ["Bash", { command: "git push --force nowhere" }, /^destructive: /],
  ];
  for (const [match = "", input, rule] of rows) {
    const hooks = [{ on: "tool.before", match, command: printing({ decision: "allow", input }) }];
    const asked = match === "Bash" ? call("Bash", { command: "ls" }) : write("a.txt");
    const { end, events } = await run([asked, say("Done.")], hooks);
    expect(of(events, "tool.end")[0]?.denied).toMatch(rule);
    expect([end.tools.denied, end.files_changed]).toEqual([1, 0]);
  }
});

test("a hook cannot allow what the gate denies, and does not run for it", async () => {
  const hooks = [{ on: "tool.before", command: `${log}; echo '{"decision":"allow"}'` }];
  const script = [call("Bash", { command: "git push --force nowhere" }), call("Nothing"), say("Done.")];
  const { end, log: inputs } = await run(script, hooks);
  expect([end.tools, inputs]).toEqual([{ ok: 0, failed: 1, denied: 1 }, []]);
});

const failures: [command: string, problem: RegExp, timeout: string][] = [
  ["echo gone wrong >&2; exit 1", /^it exited with 1: gone wrong$/, "60s"],
  ["./missing.sh", /^it exited with 127: .*missing\.sh.*not found|No such file/, "60s"],
  ["echo sure, go on", /^its output is not JSON \(/, "60s"],
  ["echo '[]'", /^its output is not a JSON object$/, "60s"],
  [`echo '{"desicion":"deny"}'`, /^unknown key "desicion" in its output \(did you mean "decision"\?\)/, "60s"],
  [`echo '{"decision":"ask"}'`, /^its decision is "ask", expected "allow" or "deny"$/, "60s"],
  ["kill -SEGV $$", /^it was killed by SIGSEGV$/, "60s"],
  ["sleep 600", /^it took longer than 200ms$/, "200ms"],
];

test.each(failures)(
  "a failed hook is a notice, or a denial when it is required: %s",
  async (command, problem, timeout) => {
    const hook = { on: "tool.before", command, timeout };
    const name = `hook "${command}" (tool.before)`;
    const optional = await run([write("a.txt"), say("Done.")], [hook]);
    const [notice = ""] = notices(optional.events);
    expect(notice).toStartWith(`warn: The ${name} failed: `);
    expect(notice.slice(`warn: The ${name} failed: `.length)).toMatch(problem);
    expect(optional.end.tools).toEqual({ ok: 1, failed: 0, denied: 0 });
    const required = await run([write("a.txt"), say("Done.")], [{ ...hook, required: true }]);
    expect(required.end).toMatchObject({ exit: 0, tools: { ok: 0, failed: 0, denied: 1 }, files_changed: 0 });
    expect(of(required.events, "tool.end")[0]?.denied).toMatch(/^hook ".*": it is required, and failed: /);
  },
);

test.concurrent(
  "a hook may print a gigabyte: it is stopped, and koda does not keep it",
  async () => {
    await using place = makePlace({}, "/var/tmp");
    const hooks = [
      { on: "prompt", command: "yes | head -c 1G >&2; yes | head -c 1G" },
      { on: "session.end", command: "while ! test -e go; do sleep 0.01; done" },
    ];
    configure(place, { hooks });
    await using server = await startModelServer([say("Done.")]);
    const child = start(place, ["exec", "--json", ...using(server), "go"]);
    const lines = follow(child);
    await lines.until(({ type }) => type === "turn.end");
    const [, peak] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
    place.write("go", "");
    const { end, events } = await lines.finished();
    expect([...ending(end), notices(events)]).toEqual([
      "done 0",
      undefined,
      [expect.stringMatching(/^warn: The hook .* failed: it printed more than 1 MiB$/)],
    ]);
    expect(Number(peak) / 1024).toBeWithin(20, 120);
  },
  60_000,
);

test("a session.start hook and a prompt hook give the model context, and can stop the run before it begins", async () => {
  const start = { on: "session.start", command: printing({ context: "The branch is frozen." }) };
  const ask = { on: "prompt", command: printing({ context: "Ticket 7." }) };
  const { requests } = await run([say("Done.")], [start, ask]);
  expect(requests[0]?.slice(-3)).toEqual([
    "do it",
    "The user's hook (session.start) says:\nThe branch is frozen.",
    "The user's hook (prompt) says:\nTicket 7.",
  ]);
  for (const on of ["session.start", "prompt"]) {
    const end = { on: "session.end", command: log };
    const denied = await run([], [{ on, command: "echo not on Fridays >&2; exit 2" }, end]);
    expect(ending(denied.end)).toEqual(["failed 1", "hook"]);
    const what = on === "prompt" ? "prompt" : "session";
    const message = `The ${what} was denied by the hook "echo not on Fridays >&2; exit…": not on Fridays`;
    expect(denied.end.error?.message).toBe(message);
    expect([denied.requests, of(denied.events, "turn.start"), denied.end.resume]).toEqual([[], [], null]);
    expect(denied.log.map(({ status }) => status)).toEqual(["failed"]);
  }
});

test("a tool.after hook cannot undo a call: its context and its denial are in the next request", async () => {
  const hooks = [
    {
      on: "tool.after",
      match: "Write",
      command: `echo formatted >> a.txt; ${printing({ context: "It is formatted." })}`,
    },
    { on: "tool.after", match: "Write", command: "echo too long >&2; exit 2" },
  ];
  const { end, events, requests } = await run([write("a.txt"), say("Done.")], hooks);
  expect(requests[1]?.slice(-3)).toEqual([
    expect.stringMatching(/changed files after your call:\n"a\.txt" has changed/),
    "The user's hook (tool.after) says:\ntoo long",
    "The user's hook (tool.after) says:\nIt is formatted.",
  ]);
  expect(end.tools).toEqual({ ok: 1, failed: 0, denied: 0 });
  expect(of(events, "diff")[0]?.patch).toContain("+x\n+formatted");
  expect(notices(events)).toEqual(['info: Denied by the hook "echo too long >&2; exit 2" (tool.after): too long']);
});

test("a formatter does not make the model read again what it edited", async () => {
  const format = "sed -i 's/ *= */ = /' 'a b.ts'";
  const edit = (old: string, now: string) => call("Edit", { path: "a b.ts", edits: [{ old, new: now }] });
  const script = [write("a b.ts", "a=1\n"), edit("a = 1", "a=2"), edit("a = 2", "a = 3"), say("Done.")];
  const { end, requests } = await run(script, [{ on: "tool.after", match: "Edit|Write", command: format }]);
  expect([end.tools, end.text]).toEqual([{ ok: 3, failed: 0, denied: 0 }, "Done."]);
  const change = ["The user's hook changed files after your call:", '"a b.ts" has changed (+1 -1).', "@@ -1,1 +1,1 @@"];
  expect(requests[1]?.at(-1)).toBe([...change, "-a=1", "+a = 1"].join("\n"));
  expect(requests[2]?.at(-1)).toBe([...change, "-a=2", "+a = 2"].join("\n"));
  expect(requests[3]?.at(-1)).toContain("Edited");
});

test("of a file that a hook rewrote as a whole, or removed, the model is told no more", async () => {
  const commands: [string, string][] = [
    ["seq 1000 > a.txt", '"a.txt" has changed: Read it again before you edit it.'],
    ["rm a.txt", '"a.txt" cannot be read any more: no such file or directory (ENOENT).'],
    [
      "rm a.txt; ln -s /etc/passwd a.txt",
      '"a.txt" cannot be read any more: too many levels of symbolic links (ELOOP).',
    ],
  ];
  for (const [command, told] of commands) {
    const { requests } = await run([write("a.txt"), say("Done.")], [{ on: "tool.after", command }]);
    expect(requests[1]?.at(-1)).toBe(`The user's hook changed files after your call:\n${told}`);
  }
});

test("a stop hook may send the model on, once", async () => {
  const hooks = [{ on: "stop", command: "cat >> log; echo the changelog is missing >&2; exit 2" }];
  const { end, requests, log: inputs } = await run([say("Done."), say("Done again.")], hooks);
  expect([...ending(end), end.text, inputs.length, requests.length]).toEqual([
    "done 0",
    undefined,
    "Done again.",
    1,
    2,
  ]);
  expect(requests[1]?.at(-1)).toStartWith("The user's hook (stop) says:\nthe changelog is missing\n\nGo on");
  const limited = await run([say("Done.")], hooks, { args: ["--max-turns", "1"] });
  expect([...ending(limited.end), limited.end.text]).toEqual(["limit 5", "max_turns", "Done."]);
});

test("a stop hook runs before the verification, which sees what it wrote", async () => {
  const hooks = [{ on: "stop", command: "touch made" }];
  const { end } = await run([say("Done.")], hooks, { args: ["--verify", "test -e made", "--verify-attempts", "1"] });
  expect([...ending(end), end.verify?.passed]).toEqual(["done 0", undefined, true]);
});

test("the hooks on an end change nothing about it, not even when they are required", async () => {
  const commands = ["exit 2", "exit 1", "echo no", printing({ decision: "deny" }), printing({ context: "more" })];
  const hooks = ["turn.end", "session.end"].flatMap((on) =>
    commands.map((command) => ({ on, command, required: true })),
  );
  const { end, events, requests } = await run([say("Done.")], hooks);
  expect([...ending(end), end.text, requests.length]).toEqual(["done 0", undefined, "Done.", 1]);
  expect(notices(events)).toHaveLength(hooks.length);
  expect(notices(events).every((notice) => notice.startsWith("error: "))).toBe(true);
});

test("what the hooks on the end of a turn and of a session write is in the patch", async () => {
  const hooks = ["turn.end", "session.end"].map((on) => ({ on, command: `touch ${on}` }));
  await using place = makePlace({}, "/var/tmp");
  configure(place, { hooks });
  await using server = await startModelServer([say("Done.")]);
  const { events } = await exec(place, server, ["go", "--patch", "../run.patch"]);
  expect(of(events, "diff")[0]?.files.map(({ path }) => path)).toEqual(["turn.end"]);
  const patch = readFileSync(join(place.project, "../run.patch"), "utf8");
  expect(patch.match(/^diff --git .*/gm)).toEqual([
    "diff --git a/session.end b/session.end",
    "diff --git a/turn.end b/turn.end",
  ]);
});

test("hooks run in the sandbox and without secrets", async () => {
  await using place = makePlace({}, "/var/tmp");
  const command = "echo x > ../outside; env > env; cat > input";
  configure(place, { hooks: [{ on: "prompt", command }] });
  await using server = await startModelServer([say("Done.")]);
  const env = { OPENAI_API_KEY: "sk-abcdefgh12345678", MY_TOKEN: "abc" };
  const { end } = await exec(place, server, ["go"], { env });
  expect(end.exit).toBe(0);
  expect(existsSync(join(place.project, "../outside"))).toBe(false);
  const seen = ["env", "input"].map((name) => readFileSync(join(place.project, name), "utf8")).join("");
  expect(seen).not.toMatch(/sk-abcdefgh|MY_TOKEN/);
  expect(seen).toContain('"prompt":"go"');
});

test.concurrent(
  "nothing that a hook starts outlives it",
  async () => {
    const mark = 100_000 + Math.floor(Math.random() * 800_000);
    const command = `(trap '' TERM HUP; sleep ${mark}.1) & setsid sleep ${mark}.2 & sleep ${mark}.3 &`;
    const { events } = await run([say("Done.")], [{ on: "prompt", command }]);
    expect(notices(events)).toEqual([
      expect.stringMatching(/^info: Processes that the hook .* left running were stopped$/),
    ]);
    expect(processesWith(`sleep\0${mark}`)).toEqual([]);
  },
  30_000,
);

test.concurrent("a hook that does not listen to TERM is killed at its timeout", async () => {
  const mark = 100_000 + Math.floor(Math.random() * 800_000);
  const command = `trap '' TERM; while :; do sleep ${mark}; done`;
  const { end, events } = await run([say("Done.")], [{ on: "prompt", command, timeout: "300ms" }]);
  expect([end.exit, notices(events)]).toEqual([0, [expect.stringContaining("it took longer than 300ms")]]);
  expect(processesWith(`sleep\0${mark}`)).toEqual([]);
});

test.concurrent(
  "hooks are held by Landlock alone as well",
  async () => {
    await using place = makePlace({}, "/var/tmp");
    const mark = 100_000 + Math.floor(Math.random() * 800_000);
    const hooks = [
      {
        on: "prompt",
        command: `echo x > ../outside; (trap '' TERM; setsid sleep ${mark}.1) & echo '{"context":"seen"}'`,
      },
      { on: "tool.before", command: "echo no >&2; exit 2" },
    ];
    configure(place, { hooks });
    await using server = await startModelServer([write("a.txt"), say("Done.")]);
    const program = programWithout(asInDocker, join(place.project, ".."));
    const ran = await runIn(place, [program, binary, "exec", "--json", ...using(server), "go"]);
    const { end, events } = checkLines(ran);
    expect(of(events, "session.start")[0]?.sandbox.backend).toBe("landlock");
    expect([...ending(end), end.tools.denied, existsSync(join(place.project, "../outside"))]).toEqual([
      "done 0",
      undefined,
      1,
      false,
    ]);
    expect(server.requests[0]?.lines.at(-1)?.text).toBe("The user's hook (prompt) says:\nseen");
    expect(processesWith(`sleep\0${mark}`)).toEqual([]);
  },
  30_000,
);

function processesWith(words: string): string[] {
  const lines = (allPids() ?? []).map((pid) => unlessRefused(() => readFileSync(`/proc/${pid}/cmdline`, "latin1")));
  return lines.filter((line) => line !== undefined).filter((line) => line.includes(words));
}

test.concurrent.each(["session.start", "prompt", "tool.before", "tool.after", "stop", "turn.end", "session.end"])(
  "the time limit holds during a hook on %s",
  async (on) => {
    const { end } = await run([write("a.txt"), say("Done.")], [{ on, command: "sleep 600" }], {
      args: ["--timeout", "1s"],
    });
    expect(ending(end)).toEqual(["limit 124", "timeout"]);
    expect(end.duration_ms).toBeLessThan(2_900);
  },
);

test.concurrent("the idle clock does not count the time of a hook", async () => {
  const hooks = ["prompt", "tool.before"].map((on) => ({ on, command: "sleep 1" }));
  const { end } = await run([write("a.txt"), say("Done.")], hooks, { args: ["--idle-timeout", "700ms"] });
  expect(ending(end)).toEqual(["done 0", undefined]);
});

test("a signal during a hook wins, and the hooks on the ends still have a moment", async () => {
  await using place = makePlace({}, "/var/tmp");
  const hooks = [
    { on: "tool.before", command: "touch started; sleep 600" },
    { on: "turn.end", command: log },
    { on: "session.end", command: log },
  ];
  configure(place, { hooks });
  await using server = await startModelServer([write("a.txt")]);
  const child = start(place, ["exec", "--json", ...using(server), "go"]);
  const events = follow(child);
  await until(() => existsSync(join(place.project, "started")), "the hook");
  child.kill("SIGINT");
  const { end } = await events.finished();
  expect([...ending(end), end.tools]).toEqual(["cancelled 130", "sigint", { ok: 0, failed: 1, denied: 0 }]);
  expect(logged(place).map(({ hook, reason, status }) => [hook, reason ?? status])).toEqual([
    ["turn.end", "cancelled"],
    ["session.end", "cancelled"],
  ]);
});

test("a resumed session and a fork say what they are", async () => {
  await using place = makePlace({}, "/var/tmp");
  configure(place, { hooks: [{ on: "session.start", command: log }] });
  await using server = await startModelServer([say("1"), say("2"), say("3")]);
  const first = await exec(place, server, ["one"]);
  await exec(place, server, ["two", "--last"]);
  await exec(place, server, ["three", "--fork", first.end.session ?? ""]);
  expect(logged(place).map(({ source, turn }) => [source, turn])).toEqual([
    ["startup", 0],
    ["resume", 1],
    ["fork", 2],
  ]);
});

test("a project's hooks do not run until it is trusted", async () => {
  const files = { ".koda/config.json": JSON.stringify({ hooks: [{ on: "prompt", command: log }] }) };
  const untrusted = await run([say("Done.")], [], { files });
  expect([of(untrusted.events, "session.start")[0]?.skipped, untrusted.log]).toEqual([
    [".koda/config.json: hooks"],
    [],
  ]);
  const trusted = await run([say("Done.")], [], { files, args: ["--trust-project"] });
  expect(trusted.log).toHaveLength(1);
  const bare = await run([say("Done.")], [{ on: "prompt", command: log }], { files, args: ["--bare"] });
  expect(bare.log).toEqual([]);
});

test("calls that a hook wants to see run one after the other", async () => {
  const command = "cat >/dev/null; echo begins >> order; sleep 0.1; echo ends >> order";
  const hooks = [{ on: "tool.before", match: "List|Glob", command }];
  const script = [reply(call("List", { path: "." }), call("Glob", { pattern: "*" })), say("Here it is.")];
  await using place = makePlace({}, "/var/tmp");
  configure(place, { hooks });
  await using server = await startModelServer(script);
  const { end } = await exec(place, server, ["go"]);
  expect(end.tools.ok).toBe(2);
  expect(readFileSync(join(place.project, "order"), "utf8")).toBe("begins\nends\n".repeat(2));
});

test("a change of a hook's is none of the model's: a task that asked for one is not finished by it", async () => {
  const script = () => say("I fixed the bug.");
  const prompt = "Fix the bug in a.txt";
  const plain = await run(script, [], { prompt });
  const hooked = await run(script, [{ on: "prompt", command: log }], { prompt });
  expect(plain.end.incomplete).toHaveLength(1);
  expect([hooked.end.incomplete, hooked.requests.length]).toEqual([plain.end.incomplete, plain.requests.length]);
});

test("a session that goes on without a prompt asks no hook about one, and keeps the hooks of its flags", async () => {
  await using place = makePlace({}, "/var/tmp");
  await using server = await startModelServer([write("a.txt"), say("Done.")]);
  const hooks = `hooks=${JSON.stringify([
    { on: "prompt", command: log },
    { on: "stop", command: log },
  ])}`;
  const first = await exec(place, server, ["go", "--max-turns", "1", "--config", hooks]);
  expect([...ending(first.end), first.end.resume]).toEqual(["limit 5", "max_turns", expect.stringContaining(hooks)]);
  const args = ["--resume", first.end.session ?? "", "--config", hooks];
  expect((await exec(place, server, args)).end.text).toBe("Done.");
  expect(logged(place).map(({ hook }) => hook)).toEqual(["prompt", "stop"]);
});

test("a mistake in the configuration of a hook refuses the command line", async () => {
  const { end, requests } = await run([], [{ on: "tool.before", match: "(", command: "true" }]);
  expect([...ending(end), requests]).toEqual(["failed 2", "config", []]);
  expect(end.error?.message).toMatch(/config\.json": "hooks\[0\]\.match" is "\(", expected a regular expression/);
});

test("a hook on InvokeAgent is guarded by itself, and agents run at once", async () => {
  const both = Promise.withResolvers<void>();
  let asked = 0;
  const together = async () => {
    if (++asked === 2) both.resolve();
    await both.promise;
    return say("Here.");
  };
  const script = scriptFor({
    go: [reply(invoke("explore", "ONE"), invoke("explore", "TWO")), say("End.")],
    ONE: together,
    TWO: together,
  });
  const hooks = [
    { on: "tool.before", match: "InvokeAgent", command: `${log}; git init -q made` },
    { on: "tool.after", match: "InvokeAgent", command: log },
  ];
  const { end, log: inputs, events } = await run(script, hooks, { prompt: "go" });
  expect([...ending(end), notices(events), end.agents?.ok]).toEqual(["done 0", undefined, [], 2]);
  expect(inputs.map(({ hook, tool }) => `${hook} ${tool}`).toSorted()).toEqual([
    "tool.after InvokeAgent",
    "tool.after InvokeAgent",
    "tool.before InvokeAgent",
    "tool.before InvokeAgent",
  ]);
  const found = events.findIndex((event) => event.type === "notice" && event.message.includes('"made/.git"'));
  expect(found).toBeWithin(
    1,
    events.findIndex(({ type }) => type === "agent"),
  );
});
