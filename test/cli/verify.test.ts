import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type EndLine, exec, follow, koda, type Line, start, using } from "../support/koda.ts";
import { call, problem, say } from "../support/model-reply.ts";
import { type Script, startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

async function run(script: Script, args: readonly string[], files: Record<string, string> = {}) {
  // Not below /tmp, which is another one for commands.
  await using place = makePlace(files, "/var/tmp");
  await using server = await startModelServer(script);
  const ran = await exec(place, server, ["do it", ...args]);
  expect(server.problems).toEqual([]);
  const made = existsSync(join(place.project, "log")) ? readFileSync(join(place.project, "log"), "utf8") : "";
  return { ...ran, log: made, requests: server.requests.map(({ lines }) => lines.map(({ text }) => text ?? "")) };
}

const of = <T extends Line["type"]>(events: readonly Line[], type: T) =>
  events.filter((event): event is Extract<Line, { type: T }> => event.type === type);

const ending = ({ status, exit, error, verify }: EndLine) => [`${status} ${exit}`, error?.code, verify];

test("an answer that passes is the answer: the command runs once, and its writes are changes of the run", async () => {
  const { end, events, requests } = await run([say("All good.")], ["--verify", "echo checked | tee log"]);
  const verify = { command: "echo checked | tee log", passed: true, attempts: 1 };
  expect(ending(end)).toEqual(["done 0", undefined, verify]);
  expect([end.text, end.files_changed, end.tools]).toEqual(["All good.", 1, { ok: 0, failed: 0, denied: 0 }]);
  expect(of(events, "diff")[0]?.files).toEqual([{ path: "log", kind: "add", added: 1, removed: 0 }]);
  expect(requests).toHaveLength(1);
  const types = events.map(({ type }) => type).filter((type) => type.startsWith("verify"));
  expect(types).toEqual(["verify.start", "verify.output", "verify.end"]);
  expect(of(events, "verify.start")[0]).toMatchObject({ attempt: 1, max: 3, command: verify.command });
  expect(of(events, "verify.output")[0]).toMatchObject({ stream: "stdout", text: "checked\n" });
  expect(of(events, "verify.end")[0]).toMatchObject({ attempt: 1, passed: true, exit_code: 0 });
});

test("what a failed verification prints goes to the model, which goes on in the same turn", async () => {
  const script = [say("Done."), call("Write", { path: "fixed", content: "" }), say("Now it is.")];
  const check = "test -e fixed || { echo no such fix >&2; exit 3; }";
  const { end, events, requests } = await run(script, ["--verify", check]);
  expect(ending(end)).toEqual(["done 0", undefined, { command: check, passed: true, attempts: 2 }]);
  expect(end.text).toBe("Now it is.");
  expect(requests[1]?.at(-1)).toContain(check);
  expect(requests[1]?.at(-1)).toMatch(/attempt 1 of 3[\s\S]*Exit code: 3 \| .*\nstderr:\nno such fix/);
  expect(of(events, "turn.start")).toHaveLength(1);
  expect(of(events, "verify.end").map(({ passed, exit_code: code }) => [passed, code])).toEqual([
    [false, 3],
    [true, 0],
  ]);
});

test("a verification that never passes is exit 8, after as many runs as were asked for", async () => {
  for (const [attempts, flags] of [
    [3, []],
    [1, ["--verify-attempts", "1"]],
  ] as const) {
    const { end, log, requests } = await run(
      (_, index) => say(`Answer ${index + 1}.`),
      ["--verify", "echo x >> log; exit 1", ...flags],
    );
    const verify = { command: "echo x >> log; exit 1", passed: false, attempts };
    expect(ending(end)).toEqual(["failed 8", "verification", verify]);
    expect([log, requests.length, end.text]).toEqual(["x\n".repeat(attempts), attempts, `Answer ${attempts}.`]);
    expect(end.error?.message).toContain('"echo x >> log; exit 1"');
  }
});

test("text mode prints the last answer alone on stdout, and the verification on stderr", async () => {
  await using place = makePlace();
  await using server = await startModelServer([
    say("First."),
    call("Write", { path: "ok", content: "" }),
    say("Last."),
  ]);
  const args = ["exec", ...using(server), "--verify", "echo looking; test -e ok", "go"];
  const { stdout, stderr, exit } = await koda(place, args);
  expect([stdout, exit]).toEqual(["Last.\n", 0]);
  expect(stderr).toMatch(/● Verify echo looking; test -e ok\n {4}looking\n {2}✗ exit 1 · .*\n/);
  expect(stderr).toMatch(/● Verify echo looking; test -e ok \(2 of 3\)\n {4}looking\n {2}✓ /);
  expect(stderr).toMatch(/✓ done · .* · verified\n/);
});

test("the answer of a schema is verified, and the last one is the output", async () => {
  const schema = { "s.json": '{"type":"object","required":["n"]}' };
  const script = [say('{"n":1}'), call("Write", { path: "ok", content: "" }), say('{"n":2}')];
  const { end } = await run(script, ["--output-schema", "s.json", "--verify", "test -e ok"], schema);
  expect([end.output, end.verify?.attempts]).toEqual([{ n: 2 }, 2]);
});

test("requests after a failed verification count for the limits, and a limit is not exit 8", async () => {
  const { end } = await run([say("Done.")], ["--max-turns", "1", "--verify", "false"]);
  expect(ending(end)).toEqual(["limit 5", "max_turns", { command: "false", passed: false, attempts: 1 }]);
});

test("what is no answer is not verified", async () => {
  const rows: [Script, string, string | undefined][] = [
    [[problem(401, "No.")], "failed 4", "credentials"],
    [[say(""), say("")], "failed 6", "empty"],
    [() => call("Read", { path: "nowhere" }), "failed 1", "loop"],
  ];
  for (const [script, outcome, code] of rows) {
    const { end, log, events } = await run(script, ["--verify", "touch log"]);
    expect(ending(end)).toEqual([outcome, code, { command: "touch log", passed: false, attempts: 0 }]);
    expect([log, of(events, "verify.start")]).toEqual(["", []]);
  }
});

test("the command is confined like every other, and has the time of one", async () => {
  const { end: outside } = await run([say("Done.")], ["--verify-attempts", "1", "--verify", "echo x > ~/outside"]);
  expect(ending(outside).slice(0, 2)).toEqual(["failed 8", "verification"]);
  const { end: plan } = await run(
    [say("Done.")],
    ["--mode", "plan", "--verify-attempts", "1", "--verify", "touch log"],
  );
  expect(ending(plan).slice(0, 2)).toEqual(["failed 8", "verification"]);
  const { end: safe, log } = await run([say("Done.")], ["--mode", "safe", "--verify", "echo x > log"]);
  expect([ending(safe)[0], log]).toEqual(["done 0", "x\n"]);
  const late = ["--max-command-time", "200ms", "--verify-attempts", "1", "--verify", "sleep 600"];
  const { end, events } = await run([say("Done.")], late);
  expect(ending(end).slice(0, 2)).toEqual(["failed 8", "verification"]);
  expect(of(events, "verify.end")[0]).toMatchObject({ passed: false, timed_out: true });
});

test("a command that the model started in the background has ended before the verification", async () => {
  const command = "while ! test -e go; do sleep 0.05; done; echo slow > log";
  const script = [call("Bash", { command, background: true }), call("Bash", { command: "touch go" }), say("Done.")];
  const { end, log } = await run(script, ["--verify-attempts", "1", "--verify", "grep slow log"]);
  expect([...ending(end).slice(0, 2), log]).toEqual(["done 0", undefined, "slow\n"]);
});

test("a background command that does not end is stopped, and the model hears of it when the verification fails", async () => {
  const script = [call("Bash", { command: "sleep 600", background: true }), say("Done."), say("Done again.")];
  const flags = ["--max-command-time", "300ms", "--verify-attempts", "2", "--verify", "false"];
  const { end, events, requests } = await run(script, flags);
  expect(ending(end).slice(0, 2)).toEqual(["failed 8", "verification"]);
  expect(of(events, "notice").map(({ message }) => message)).toEqual([
    "The verification waits up to 0.3 s for background commands to end: t1 (sleep 600)",
    "Background commands were stopped for the verification: t1 (sleep 600)",
  ]);
  expect(requests[2]?.at(-1)).toContain("Background commands were stopped before it: t1 (sleep 600).");
});

test("a signal during the verification wins, and nothing of it goes on", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  const args = ["exec", "--json", ...using(server), "--verify", "echo started; sleep 600", "go"];
  const child = start(place, args);
  const events = follow(child);
  await events.until(({ type }) => type === "verify.output");
  child.kill("SIGINT");
  const { end } = await events.finished();
  const verify = { command: "echo started; sleep 600", passed: false, attempts: 1 };
  expect(ending(end)).toEqual(["cancelled 130", "sigint", verify]);
});

test("the time limit holds during the verification", async () => {
  const { end } = await run([say("Done.")], ["--timeout", "2s", "--verify", "sleep 600"]);
  expect(ending(end)).toEqual(["limit 124", "timeout", { command: "sleep 600", passed: false, attempts: 1 }]);
});

test("an answer that never passed is not left in the file of -o, and a run with a verification can be replayed", async () => {
  await using place = makePlace({ "answer.md": "old\n" });
  await using server = await startModelServer([say("Done."), say("Done.")]);
  const flags = ["go", "--verify", "cat missing", "--verify-attempts", "2", "-o", "answer.md"];
  const recorded = await exec(place, server, [...flags, "--record", "../run.tape"]);
  expect([recorded.exit, existsSync(join(place.project, "answer.md"))]).toEqual([8, false]);
  const replayed = await koda(place, ["exec", "--replay", "../run.tape", ...flags]);
  expect([replayed.exit, replayed.stdout]).toEqual([8, ""]);
  expect(server.requests).toHaveLength(2);
});

test("a session that failed its verification goes on with the line that its end has", async () => {
  await using place = makePlace();
  const replies = [say("Done."), call("Bash", { command: "touch ok" }), say("Really.")];
  await using server = await startModelServer(replies);
  const check = ["--verify", "test -e ok", "--verify-attempts", "1"];
  const { end: first } = await exec(place, server, ["do it", ...check]);
  expect(first.resume).toContain("--verify 'test -e ok' --verify-attempts 1");
  const { end } = await exec(place, server, ["--resume", first.session ?? "", ...check]);
  expect(ending(end)).toEqual(["done 0", undefined, { command: "test -e ok", passed: true, attempts: 1 }]);
  const told = server.requests[1]?.lines.map(({ text }) => text ?? "") ?? [];
  expect(told.some((text) => text.includes("`test -e ok` failed (attempt 1 of 1)"))).toBe(true);
});

test("without --verify there is nothing about it, and an empty command is a mistake", async () => {
  const { end } = await run([say("Done.")], []);
  expect("verify" in end).toBe(false);
  await using place = makePlace();
  await using server = await startModelServer([]);
  for (const args of [
    ["--verify", ""],
    ["--verify", "  "],
    ["--verify-attempts", "2"],
    ["--verify-attempts", "0"],
  ]) {
    const refused = await exec(place, server, ["hi", ...args]);
    expect([refused.exit, refused.end.error?.code], args.join(" ")).toEqual([2, "usage"]);
    expect(refused.end.error?.message).toContain("--verify");
  }
  expect(server.requests).toHaveLength(0);
});

test("Finish is taken back by a verification that fails, as often as there are attempts", async () => {
  const finish = call("Finish", { status: "done", summary: "All good." });
  const flags = ["--finish", "required", "--verify-attempts", "5"];
  const passing = ["--verify", 'echo x >> log; test "$(wc -l < log)" -ge 5'];
  const { end, requests } = await run(() => finish, [...passing, ...flags]);
  expect([...ending(end).slice(0, 2), end.verify?.attempts, requests.length]).toEqual(["done 0", undefined, 5, 5]);
  const failing = await run(() => finish, ["--verify", "false", ...flags]);
  expect(ending(failing.end)).toEqual(["failed 8", "verification", { command: "false", passed: false, attempts: 5 }]);
  expect(failing.end.resume).toContain("--finish required");
});
