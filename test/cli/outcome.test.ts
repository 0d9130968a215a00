import { describe, expect, test } from "bun:test";
import { closeSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ErrorCode } from "../../lib/errors.ts";
import { openPipe } from "../../lib/system/pipe.ts";
import { binary, checkLines, exec, follow, koda, start, using } from "../support/koda.ts";
import { call, problem, reply, say, silence, status, wait } from "../support/model-reply.ts";
import { startModelServer, type Script } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { runIn } from "../support/run.ts";
import { processesNaming } from "../support/shell.ts";
import { until } from "../support/until.ts";

/**
 * The outcome, the last event and the exit code: `exec` checks on every run that they agree, so a row here says only
 * what they are.
 */
const soon = { "retry-after-ms": "1" };
const six = (code: number, message: string) => Array.from({ length: 7 }, () => problem(code, message, soon));

const html = { "content-type": "text/html" };

type Row = [
  name: string,
  script: Script,
  ending: `${"done" | "failed" | "limit"} ${number}`,
  more?: { code?: ErrorCode; requests?: number; flags?: string[] },
];

const sudo = [call("Bash", { command: "sudo true" }), say("I may not.")];
const silent = [[say("Thinking"), silence()]];
const cutOff = reply(say("more "), { finish: "length" });

const rows: Row[] = [
  ["a plain answer", [say("Hello.")], "done 0", { requests: 1 }],
  ["an answer after a tool call", [call("List", {}), say("It is empty.")], "done 0", { requests: 2 }],
  ["a refused key", [problem(401, "Incorrect API key provided")], "failed 4", { code: "credentials" }],
  ["a forbidden key", [problem(403, "No access")], "failed 4", { code: "credentials" }],
  ["an unknown model", [problem(404, "The model does not exist")], "failed 1", { code: "model_not_found" }],
  ["a bad request", [problem(400, "No such parameter")], "failed 1", { code: "request" }],
  ["a context that is too long", [problem(413, "too long")], "failed 1", { code: "context" }],
  ["a used-up quota", [problem(402, "Pay first")], "failed 9", { code: "quota", requests: 1 }],
  ["a rate limit that never lifts", six(429, "Slow down"), "failed 9", { code: "rate_limit", requests: 6 }],
  ["a provider that stays broken", six(500, "Oops"), "failed 9", { code: "unavailable", requests: 6 }],
  ["a provider that recovers", [...six(503, "Oops").slice(0, 3), say("There.")], "done 0", { requests: 4 }],
  ["an empty answer, twice", [say(""), say("")], "failed 6", { code: "empty", requests: 2 }],
  ["an empty answer, once", [say(""), say("Now.")], "done 0", { requests: 2 }],
  [
    "a thought in tags, twice",
    [say("<think>Hm</think>"), say("<think>Hm")],
    "failed 6",
    { code: "empty", requests: 2 },
  ],
  [
    "a model that never stops calling",
    (_request, index) => call("Read", { path: `file-${index}` }),
    "limit 5",
    { code: "max_turns", requests: 4, flags: ["--max-turns", "4"] },
  ],
  ["a single turn that is enough", [say("Four.")], "done 0", { requests: 1, flags: ["--max-turns", "1"] }],
  [
    "a single turn that is not",
    [call("List", {})],
    "limit 5",
    { code: "max_turns", requests: 1, flags: ["--max-turns", "1"] },
  ],
  [
    "the token limit",
    [reply(call("List", {}), { usage: { input: 900, output: 200 } })],
    "limit 5",
    { code: "max_tokens", requests: 1, flags: ["--max-tokens", "1000"] },
  ],
  [
    "the token limit, of a provider that reports nothing",
    [reply(call("List", {}), { usage: null })],
    "limit 5",
    { code: "max_tokens", requests: 1, flags: ["--max-tokens", "1000"] },
  ],
  ["the same call without end", () => call("Read", { path: "nowhere" }), "failed 1", { code: "loop", requests: 4 }],
  [
    "the same command without end, which prints the address of its proxy",
    () => call("Bash", { command: "echo $HTTP_PROXY" }),
    "failed 1",
    { code: "loop", requests: 4 },
  ],
  ["an unknown tool without end", () => call("Finish", { status: "done" }), "failed 1", { code: "loop", requests: 4 }],
  ["a denied call that matters", sudo, "failed 3", { code: "denied", flags: ["--fail-on", "denied"] }],
  ["a denied call that does not", sudo, "done 0"],
  [
    "a failed call that matters",
    [call("Bash", { command: "exit 3" }), say("It failed.")],
    "failed 3",
    { code: "tool_error", flags: ["--fail-on", "tool-error"] },
  ],
  ["a content filter", [reply(say("I"), { finish: "filter" })], "failed 1", { code: "content_policy" }],
  ["a reply cut at its length that goes on", [cutOff, say("two.")], "done 0", { requests: 2 }],
  ["a reply that is always cut at its length", () => cutOff, "limit 5", { code: "max_output", requests: 4 }],
  ["a silent model and a time limit", silent, "limit 124", { code: "timeout", flags: ["--timeout", "300ms"] }],
  [
    "a silent model and an idle limit",
    silent,
    "limit 124",
    { code: "idle_timeout", flags: ["--idle-timeout", "300ms"] },
  ],
  ["an unknown session", [], "failed 10", { code: "session_not_found", requests: 0, flags: ["--resume", "nowhere"] }],
  ["no session to continue", [], "failed 10", { code: "session_not_found", requests: 0, flags: ["--last"] }],
  ["an unknown flag", [], "failed 2", { code: "usage", requests: 0, flags: ["--modle", "x"] }],
  ["a page instead of a stream", () => status(200, "<html>Welcome</html>", html), "failed 1", { code: "request" }],
];

describe("koda exec ends with", () => {
  for (const [name, script, ending, { code, requests, flags = [] } = {}] of rows)
    test.concurrent(`${name}: ${ending}`, async () => {
      await using place = makePlace();
      await using server = await startModelServer(script);
      const { end, stderr } = await exec(place, server, ["do it", ...flags]);
      expect([`${end.status} ${end.exit}`, end.error?.code], stderr).toEqual([ending, code]);
      expect(server.problems).toEqual([]);
      if (requests !== undefined) expect(server.requests).toHaveLength(requests);
    });
});

test("the demo needs no prompt, by whatever name and from wherever it is asked for", async () => {
  const ways = [
    { args: ["-m", "demo/scripted"], env: {} },
    { args: [], env: { KODA_MODEL: "demo" } },
  ];
  for (const { args, env } of ways) {
    await using place = makePlace();
    const { stdout, exit } = await koda(place, ["exec", ...args], { env });
    expect({ exit, answer: stdout.slice(0, 13) }).toEqual({ exit: 0, answer: "Scripted demo" });
  }
});

test("a run that is stopped says in the middle of which command", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Bash", { command: "sleep 30" })]);
  const ran = await koda(place, ["exec", ...using(server), "--timeout", "500ms", "hi"]);
  expect(ran.exit).toBe(124);
  expect(ran.stderr).toContain("● Bash sleep 30\n  ✗ killed by SIGTERM");
});

test("no credentials are exit 4 with three ways on", async () => {
  await using place = makePlace();
  const ran = await koda(place, ["exec", "--json", "hi"]);
  expect(checkLines(ran).end).toMatchObject({ exit: 4, error: { code: "credentials" } });
  for (const way of ["OPENAI_API_KEY", "-m demo", "ollama"]) expect(ran.stderr).toContain(way);
});

for (const [name, exit] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  test.concurrent(`${name} in the middle of a reply ends the run with ${exit} and a session to continue`, async () => {
    await using place = makePlace();
    await using server = await startModelServer([[say("Half "), silence()], say("Whole.")]);
    const child = start(place, ["exec", "--json", ...using(server), "do it"]);
    const running = follow(child);
    await running.until(({ type }) => type === "text.delta");
    child.kill(name);
    const { end } = await running.finished();
    expect(end).toMatchObject({ status: "cancelled", exit, text: "Half ", error: { code: name.toLowerCase() } });

    const resumed = await exec(place, server, ["--resume", end.session ?? "", "go on"]);
    expect(resumed.end).toMatchObject({ status: "done", text: "Whole." });
    expect(server.requests[1]?.lines.map(({ text }) => text).join("\n")).toContain("do it");
    expect(server.problems).toEqual([]);
  });
}

test("a signal while a command runs leaves no process behind", async () => {
  await using place = makePlace({ followed: "" });
  const followed = join(place.project, "followed");
  await using server = await startModelServer([
    // Each process carries the name of this test's own directory.
    call("Bash", {
      command: `setsid sh -c 'echo 1; exec tail -f "$0"' ${followed} & echo 2; exec tail -f ${followed}`,
    }),
  ]);
  const child = start(place, ["exec", "--json", ...using(server), "do it"]);
  const running = follow(child);
  let said = "";
  while (!(said.includes("1") && said.includes("2"))) {
    const line = await running.until(({ type }) => type === "tool.output");
    if (line.type === "tool.output") said += line.text;
  }
  // Each of the two has said something and is about to become another program.
  await until(() => processesNaming(`tail\0-f\0${followed}`).length >= 2);
  child.kill("SIGTERM");
  expect((await running.finished()).end).toMatchObject({ exit: 143 });
  expect(processesNaming(place.project)).toEqual([]);
});

test("a reader that goes away ends the run with 141 and no stack trace", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("List", {}), say("Done.")]);
  const command = `"$0" exec --json ${using(server).join(" ")} hi | head -1; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await runIn(place, ["bash", "-c", command, binary]);
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("141");
  expect(stderr).not.toContain("    at ");
});

test("a full disk under stdout is exit 11", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hello.")]);
  const line = `"$0" exec ${using(server).join(" ")} hi > /dev/full`;
  const { exit, stderr } = await runIn(place, ["sh", "-c", line, binary]);
  expect(exit).toBe(11);
  expect(stderr).not.toContain("done");
  const lines = stderr.trimEnd().split("\n").slice(-3);
  expect(lines).toEqual([
    expect.stringMatching(/^koda: Cannot write to stdout: .*ENOSPC.*answer was not delivered.*koda session show/),
    expect.stringMatching(/^✗ failed \(output, exit 11\)/),
    expect.stringContaining("to continue: koda exec --resume"),
  ]);
});

for (const output of ["text", "json", "jsonl"])
  test(`a reader that left before the answer is told of with --output ${output}`, async () => {
    await using place = makePlace();
    const left = Promise.withResolvers<void>();
    await using server = await startModelServer([[wait(left.promise), say("Hello.")]]);
    const pipe = openPipe();
    if (pipe === undefined) throw new Error("there are no pipes here");
    const argv = [binary, "exec", "--output", output, ...using(server), "hi"];
    const options = {
      cwd: place.project,
      env: place.env,
      stdin: "ignore",
      stdout: pipe.write,
      stderr: "pipe",
    } as const;
    const child = Bun.spawn(argv, options);
    closeSync(pipe.write);
    await server.nextRequest();
    // Bun closes the ends of its own pipes some time later.
    closeSync(pipe.read);
    left.resolve();
    const [stderr] = await Promise.all([child.stderr.text(), child.exited]);
    expect(child.exitCode).toBe(141);
    expect(stderr).toContain("koda: The reader of stdout went away");
    expect(stderr).toContain("✗ cancelled (reader_gone, exit 141)");
    expect(stderr).not.toContain("done");
    if (output !== "jsonl") expect(stderr).toContain("The answer was not delivered in full");
  });

test("no room for temporary files is said, with the directory and the way out", async () => {
  await using place = makePlace();
  await using server = await startModelServer([]);
  const missing = join(place.home, "missing");
  const { end } = await exec(place, server, ["hi"], { env: { TMPDIR: missing } });
  const message = end.error?.message ?? "";
  for (const part of [`"${missing}"`, "TMPDIR"]) expect(message).toContain(part);
  expect(end).toMatchObject({ exit: 2, error: { code: "config" } });
});

test("an old answer stays when the command line is refused, and goes when the run fails", async () => {
  await using place = makePlace({ "answer.txt": "Old." });
  await using server = await startModelServer([problem(400, "no")]);
  const refused = await exec(place, server, ["-o", "answer.txt", "-i", "missing.png", "hi"]);
  expect(refused.end.exit).toBe(2);
  expect(await Bun.file(join(place.project, "answer.txt")).text()).toBe("Old.");

  const failed = await exec(place, server, ["-o", "answer.txt", "hi"]);
  expect(failed.end.exit).toBe(1);
  expect(await Bun.file(join(place.project, "answer.txt")).exists()).toBe(false);
});

test("an answer has no part of a reply that was cut off before the model went on with calls", async () => {
  await using place = makePlace();
  await using server = await startModelServer([cutOff, call("List", {}), say("Final answer.")]);
  const { end } = await exec(place, server, ["hi"]);
  expect(end).toMatchObject({ status: "done", text: "Final answer." });
});

test("an interrupted command tells the model how far it came", async () => {
  await using place = makePlace();
  await using server = await startModelServer([
    call("Bash", { command: "echo step one is done; exec sleep 60" }),
    say("Going on."),
  ]);
  const child = start(place, ["exec", "--json", ...using(server), "do it"]);
  const running = follow(child);
  await running.until(({ type }) => type === "tool.output");
  child.kill("SIGTERM");
  const { end } = await running.finished();
  await exec(place, server, ["--resume", end.session ?? "", "go on"]);
  const told = server.requests[1]?.lines.map(({ text }) => text).join("\n");
  expect(told).toMatch(/\[interrupted: Stopped by SIGTERM\][\s\S]*step one is done/);
});

test("signals that come together are one, and the run has its end", async () => {
  await using place = makePlace();
  await using server = await startModelServer([[say("Half "), silence()]]);
  const child = start(place, ["exec", "--json", ...using(server), "do it"]);
  const running = follow(child);
  await running.until(({ type }) => type === "text.delta");
  for (const name of ["SIGTERM", "SIGCONT", "SIGTERM", "SIGINT"] as const) child.kill(name);
  const { end } = await running.finished();
  expect([end.status, [130, 143].includes(end.exit)]).toEqual(["cancelled", true]);
});

test("a deep tree without files delays neither the end nor a signal", async () => {
  const dig = "import os\nfor _ in range(500): os.mkdir('a'); os.chdir('a')";
  await using place = makePlace({ "dig.py": dig });
  await using server = await startModelServer([call("Bash", { command: "python3 dig.py" }), [say("Half "), silence()]]);
  const child = start(place, ["exec", "--json", ...using(server), "do it"]);
  const running = follow(child);
  await running.until(({ type }) => type === "text.delta");
  child.kill("SIGTERM");
  const stoppedAt = performance.now();
  expect((await running.finished()).end).toMatchObject({ status: "cancelled", exit: 143 });
  expect(performance.now() - stoppedAt).toBeLessThan(20_000);
  rmSync(join(place.project, "a"), { recursive: true, force: true });
});
