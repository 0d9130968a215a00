import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ErrorCode } from "../../lib/errors.ts";
import { binary, checkLines, exec, follow, koda, start, using } from "../support/koda.ts";
import { call, problem, reply, say, silence, status, wait } from "../support/model-reply.ts";
import { refusingUrl, startModelServer, type Script } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { processesNaming } from "../support/shell.ts";
import { until } from "../support/until.ts";

/**
 * The outcome, the last event and the exit code: `exec` checks on every run that they agree, so a row here says only
 * what they are.
 */
const soon = { "retry-after-ms": "1" };
const six = (code: number, message: string) => Array.from({ length: 7 }, () => problem(code, message, soon));

type Row = {
  name: string;
  script: Script;
  flags?: string[];
  status: "done" | "failed" | "limit";
  exit: number;
  code?: ErrorCode;
  requests?: number;
};

const rows: Row[] = [
  { name: "a plain answer", script: [say("Hello.")], status: "done", exit: 0, requests: 1 },
  {
    name: "an answer after a tool call",
    script: [call("List", {}), say("It is empty.")],
    status: "done",
    exit: 0,
    requests: 2,
  },
  {
    name: "a refused key",
    script: [problem(401, "Incorrect API key provided")],
    status: "failed",
    exit: 4,
    code: "credentials",
  },
  { name: "a forbidden key", script: [problem(403, "No access")], status: "failed", exit: 4, code: "credentials" },
  {
    name: "an unknown model",
    script: [problem(404, "The model does not exist")],
    status: "failed",
    exit: 1,
    code: "model_not_found",
  },
  { name: "a bad request", script: [problem(400, "No such parameter")], status: "failed", exit: 1, code: "request" },
  {
    name: "a context that is too long",
    script: [problem(400, "too long", {}, { code: "context_length_exceeded" })],
    status: "failed",
    exit: 1,
    code: "context",
  },
  {
    name: "a used-up quota",
    script: [problem(429, "You exceeded your current quota", {}, { code: "insufficient_quota" })],
    status: "failed",
    exit: 9,
    code: "quota",
    requests: 1,
  },
  {
    name: "a rate limit that never lifts",
    script: six(429, "Slow down"),
    status: "failed",
    exit: 9,
    code: "rate_limit",
    requests: 6,
  },
  {
    name: "a provider that stays broken",
    script: six(500, "Oops"),
    status: "failed",
    exit: 9,
    code: "unavailable",
    requests: 6,
  },
  {
    name: "a provider that recovers",
    script: [...six(503, "Oops").slice(0, 3), say("There.")],
    status: "done",
    exit: 0,
    requests: 4,
  },
  {
    name: "an empty answer, twice",
    script: [say(""), say("")],
    status: "failed",
    exit: 6,
    code: "empty",
    requests: 2,
  },
  { name: "an empty answer, once", script: [say(""), say("Now.")], status: "done", exit: 0, requests: 2 },
  {
    name: "a model that never stops calling",
    script: (_request, index) => call("Read", { path: `file-${index}` }),
    flags: ["--max-turns", "4"],
    status: "limit",
    exit: 5,
    code: "max_turns",
    requests: 4,
  },
  {
    name: "a single turn that is enough",
    script: [say("Four.")],
    flags: ["--max-turns", "1"],
    status: "done",
    exit: 0,
    requests: 1,
  },
  {
    name: "a single turn that is not",
    script: [call("List", {})],
    flags: ["--max-turns", "1"],
    status: "limit",
    exit: 5,
    code: "max_turns",
    requests: 1,
  },
  {
    name: "the token limit",
    script: [reply(call("List", {}), { usage: { input: 900, output: 200 } })],
    flags: ["--max-tokens", "1000"],
    status: "limit",
    exit: 5,
    code: "max_tokens",
    requests: 1,
  },
  {
    name: "the same call without end",
    script: () => call("Read", { path: "nowhere" }),
    status: "failed",
    exit: 1,
    code: "loop",
    requests: 4,
  },
  {
    name: "the same command without end, which prints the address of its proxy",
    script: () => call("Bash", { command: "echo $HTTP_PROXY" }),
    status: "failed",
    exit: 1,
    code: "loop",
    requests: 4,
  },
  {
    name: "a denied call that matters",
    script: [call("Bash", { command: "sudo true" }), say("I may not.")],
    flags: ["--fail-on", "denied"],
    status: "failed",
    exit: 3,
    code: "denied",
  },
  {
    name: "a denied call that does not",
    script: [call("Bash", { command: "sudo true" }), say("I may not.")],
    status: "done",
    exit: 0,
  },
  {
    name: "a failed call that matters",
    script: [call("Bash", { command: "exit 3" }), say("It failed.")],
    flags: ["--fail-on", "tool-error"],
    status: "failed",
    exit: 3,
    code: "tool_error",
  },
  {
    name: "a content filter",
    script: [reply(say("I"), { finish: "filter" })],
    status: "failed",
    exit: 1,
    code: "content_policy",
  },
  {
    name: "a reply cut at its length that goes on",
    script: [reply(say("One "), { finish: "length" }), say("two.")],
    status: "done",
    exit: 0,
    requests: 2,
  },
  {
    name: "a reply that is always cut at its length",
    script: () => reply(say("more "), { finish: "length" }),
    status: "limit",
    exit: 5,
    code: "max_output",
    requests: 4,
  },
  {
    name: "a silent model and a time limit",
    script: [[say("Thinking"), silence()]],
    flags: ["--timeout", "300ms"],
    status: "limit",
    exit: 124,
    code: "timeout",
  },
  {
    name: "a silent model and an idle limit",
    script: [[say("Thinking"), silence()]],
    flags: ["--idle-timeout", "300ms"],
    status: "limit",
    exit: 124,
    code: "idle_timeout",
  },
  {
    name: "an unknown session",
    script: [],
    flags: ["--resume", "nowhere"],
    status: "failed",
    exit: 10,
    code: "session_not_found",
    requests: 0,
  },
  {
    name: "no session to continue",
    script: [],
    flags: ["--last"],
    status: "failed",
    exit: 10,
    code: "session_not_found",
    requests: 0,
  },
  {
    name: "an unknown flag",
    script: [],
    flags: ["--modle", "x"],
    status: "failed",
    exit: 2,
    code: "usage",
    requests: 0,
  },
  {
    name: "a page instead of a stream",
    script: () => status(200, "<html>Welcome</html>", { "content-type": "text/html" }),
    status: "failed",
    exit: 1,
    code: "request",
  },
];

describe("koda exec ends with", () => {
  for (const row of rows)
    test.concurrent(`${row.name}: ${row.status}, exit ${row.exit}`, async () => {
      await using place = makePlace();
      await using server = await startModelServer(row.script);
      const { end, stderr } = await exec(place, server, ["do it", ...(row.flags ?? [])]);
      expect({ status: end.status, exit: end.exit, code: end.error?.code }, stderr).toEqual({
        status: row.status,
        exit: row.exit,
        code: row.code,
      });
      expect(server.problems).toEqual([]);
      if (row.requests !== undefined) expect(server.requests).toHaveLength(row.requests);
    });
});

test("a provider that refuses connections is exit 9", async () => {
  await using place = makePlace();
  const url = await refusingUrl();
  const ran = await koda(place, ["exec", "--json", "-m", "x", "--base-url", url, "hi"]);
  expect(checkLines(ran).end).toMatchObject({ exit: 9, error: { code: "network", retryable: true } });
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
  const child = Bun.spawn(["bash", "-c", command, binary], {
    cwd: place.project,
    env: place.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("141");
  expect(stderr).not.toContain("    at ");
});

test("a full disk under stdout is exit 11", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hello.")]);
  const child = Bun.spawn(["sh", "-c", `"$0" exec ${using(server).join(" ")} hi > /dev/full`, binary], {
    cwd: place.project,
    env: place.env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const [stderr] = await Promise.all([child.stderr.text(), child.exited]);
  expect(child.exitCode).toBe(11);
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
    const child = start(place, ["exec", "--output", output, ...using(server), "hi"]);
    await server.nextRequest();
    await child.stdout.cancel();
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

const cutOff = reply(say("more "), { finish: "length" });

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
  const dig = "import os\nfor _ in range(1500): os.mkdir('a'); os.chdir('a')";
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
