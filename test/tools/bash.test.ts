import { expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { noCommands, unconfined } from "../../lib/sandbox/backend.ts";
import { Shell } from "../../lib/shell/shell.ts";
import { bashTool } from "../../lib/tools/bash.ts";
import type { ToolResult } from "../../lib/tools/tool.ts";
import { makePlace } from "../support/place.ts";
import { policyOf } from "../support/policy.ts";
import { callContext, isAlive, makeShell, shellIn } from "../support/shell.ts";

const program = join(import.meta.dir, "../support/shell-program.ts");
const textOf = ({ parts }: ToolResult) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");

test("a command's status and output are the result, and nothing is stored", async () => {
  await using shell = makeShell();
  const context = callContext(shell);
  const result = await bashTool.run({ command: "echo out; echo err >&2" }, context);
  expect(result).toEqual({
    confined: true,
    ok: true,
    parts: [{ type: "text", text: "Exit code: 0 | stdout: 1 lines | stderr: 1 lines\nstderr:\nerr\nstdout:\nout" }],
    exitCode: 0,
  });
  expect(context.stored.size).toBe(0);
  expect(context.shown.toSorted((a, b) => a.stream.localeCompare(b.stream))).toEqual([
    { stream: "stderr", text: "err\n" },
    { stream: "stdout", text: "out\n" },
  ]);
});

test.each([
  ["exit 42", { ok: false, exitCode: 42 }],
  ["kill -SEGV $$", { ok: false, exitCode: 139, signal: "SIGSEGV" }],
  ["bash -c 'kill -ABRT $$'; exit $?", { ok: false, exitCode: 134, signal: "SIGABRT" }],
])("%s is %j", async (command, status) => {
  await using shell = makeShell();
  const result = await bashTool.run({ command }, callContext(shell));
  const { parts, confined, ...rest } = result;
  expect(confined).toBe(true);
  expect(rest).toEqual(status);
  expect(textOf({ ok: false, parts })).toStartWith(`Exit code: ${status.exitCode}`);
  if ("signal" in status) expect(textOf(result)).toContain(`killed by ${status.signal}`);
});

test("output that is too much to show is stored, each stream by itself", async () => {
  await using shell = makeShell();
  const context = callContext(shell);
  const result = await bashTool.run({ command: "seq 1 100000; seq 1 3000 >&2" }, context);
  expect(result.output).toBe("o1");
  expect(textOf(result)).toStartWith("Exit code: 0 | stdout: 100000 lines | stderr: 3000 lines\n");
  expect(textOf(result)).toEndWith('RecallContext {"output":"o1"}');
  const stored = context.stored.get("o1");
  expect(stored?.call).toBe("call-1");
  const whole = Array.from({ length: 100_000 }, (_, n) => `${n + 1}\n`).join("");
  expect(Buffer.from(stored?.stdout.head ?? []).toString()).toBe(whole);
  expect(stored?.stderr.totalLines).toBe(3000);
  const shown = context.shown.filter(({ stream }) => stream === "stdout");
  expect(shown.map(({ text }) => text).join("")).toBe(whole);
});

test.each([
  [{ timeout: 900 }, "timeout 900 was cut to 300 s"],
  [{ timeout: 1.5 }, "timeout 1.5 was taken as 2 s"],
  [{ timeout: -5 }, "timeout -5 is not a time: 60 s was used"],
])("%j is corrected, and the result says so", async (input, note) => {
  await using shell = makeShell();
  const result = await bashTool.run({ command: "true", ...input }, callContext(shell));
  expect(result.ok).toBe(true);
  expect(textOf(result).split("\n")[1]).toStartWith(note);
});

test.each(["", " 2>&1"])("what the sandbox refused is said, wherever the command complains%s", async (redirection) => {
  await using shell = makeShell({ backend: { ...unconfined, filesystem: "confined" } });
  const command = `(echo "touch: cannot touch '/elsewhere/x': Read-only file system" >&2; exit 1)${redirection}`;
  const result = await bashTool.run({ command }, callContext(shell));
  expect(textOf(result)).toContain("\nsandbox: writing /elsewhere/x is not allowed (--allow-write ");
});

test("a timeout of zero is an error, and nothing is run", async () => {
  await using place = makePlace();
  await using shell = shellIn(place);
  const result = await bashTool.run({ command: "touch ran", timeout: 0 }, callContext(shell));
  expect(result.ok).toBe(false);
  expect(textOf(result)).toStartWith("timeout 0");
  expect(await Bun.file(join(place.project, "ran")).exists()).toBe(false);
});

test("a process left behind is stopped, and the model learns the better way", async () => {
  await using shell = makeShell();
  const result = await bashTool.run({ command: "sleep 1000 >/dev/null 2>&1 & echo $!" }, callContext(shell));
  expect(result.ok).toBe(true);
  expect(textOf(result)).toContain("set background to keep one");
  expect(isAlive(Number(textOf(result).split("\n").at(-1)))).toBe(false);
});

test("an abort ends the command, and its result has what it said", async () => {
  await using shell = makeShell();
  const controller = new AbortController();
  const context = callContext(shell, controller.signal);
  const said = Promise.withResolvers<number>();
  const report = (_: string, text: string) => said.resolve(Number(text));
  const running = bashTool.run({ command: "echo $$; sleep 1000" }, { ...context, report });
  const pid = await said.promise;
  controller.abort(new Error("enough"));
  const result = await running;
  expect([result.ok, isAlive(pid)]).toEqual([false, false]);
  expect(textOf(result)).toContain(`${pid}`);
});

test("in the background it returns at once with an id and where its output will be", async () => {
  await using shell = makeShell();
  const context = callContext(shell);
  const result = await bashTool.run({ command: "echo hello; sleep 1000", background: true, timeout: 5 }, context);
  expect(result).toMatchObject({ ok: true, output: "o1" });
  expect(textOf(result)).toContain("t1");
  expect(textOf(result)).toContain("timeout does not apply");
  while (context.tasks.look("t1")?.fresh.stdout.totalBytes === 0) await Bun.sleep(5);
  await context.tasks.stopAll();
  expect(Buffer.from(context.stored.get("o1")?.stdout.head ?? []).toString()).toBe("hello\n");
  expect(context.stored.get("o1")?.call).toBe("call-1");
});

test("what cannot be started is a result that the model can act on", async () => {
  await using place = makePlace();
  await using shell = shellIn(place);
  const tooLong = await bashTool.run({ command: `: ${"x".repeat(200_000)}` }, callContext(shell));
  expect(tooLong.ok).toBe(false);
  expect(textOf(tooLong)).toContain("write it to a file");
  mkdirSync(join(place.project, "gone"));
  const lost = new Shell({
    backend: unconfined,
    policy: policyOf(place, { root: join(place.project, "gone") }),
    env: place.env,
  });
  rmSync(join(place.project, "gone"), { recursive: true });
  const nowhere = await bashTool.run({ command: "true", background: true }, callContext(lost));
  expect(nowhere.ok).toBe(false);
  expect(textOf(nowhere)).toContain("does not exist");
});

test("without a sandbox, and without leave to go without, a command is denied", async () => {
  await using place = makePlace();
  const shell = shellIn(place, { backend: noCommands([]) });
  const result = await bashTool.run({ command: "touch ran" }, callContext(shell));
  expect(result).toMatchObject({ ok: false, denied: expect.stringContaining("no sandbox") });
  expect(await Bun.file(join(place.project, "ran")).exists()).toBe(false);
});

test("a call says what its command would do", async () => {
  await using place = makePlace();
  const policy = policyOf(place);
  const claim = await bashTool.claim({ command: "touch made" }, { policy, shell: { confined: true } });
  expect(claim).toEqual({ effect: "write", writes: "unknown" });
});

test.each([
  ["100 MB in short lines", "seq 1 12500000", /stdout: 12500000 lines/],
  ["300 MB without a newline", "head -c 300000000 /dev/zero", /stdout: 1 lines/],
])(
  "%s do not take more than 80 MB of memory",
  async (_, command, counts) => {
    await using place = makePlace();
    const child = Bun.spawn([process.execPath, program, command], { cwd: place.project, stdout: "pipe" });
    const { result, peakKb } = JSON.parse(await child.stdout.text());
    expect(textOf(result)).toMatch(counts);
    expect(peakKb).toBeWithin(1, 80 * 1024);
  },
  20_000,
);

test.concurrent("a timeout ends the command and keeps what it said", async () => {
  await using shell = makeShell();
  const command = "echo $$; echo before; sleep 1000; echo after";
  const result = await bashTool.run({ command, timeout: 1 }, callContext(shell));
  expect(result).toMatchObject({ ok: false, timedOut: true, signal: "SIGTERM" });
  expect(textOf(result)).toMatch(
    /^Exit code: 143 \(killed by SIGTERM\) .*\ntimed out after 1 s\nstdout:\n\d+\nbefore$/,
  );
});

test.concurrent("a command that ends well because it was told to end has not succeeded", async () => {
  await using shell = makeShell();
  const command = "trap 'exit 0' TERM; while :; do sleep 0.05; done";
  const result = await bashTool.run({ command, timeout: 1 }, callContext(shell));
  expect(result).toMatchObject({ ok: false, timedOut: true, exitCode: 0 });
});

test.concurrent("the ceiling is the shell's, also for a command that names no timeout", async () => {
  await using shell = makeShell({ maxSeconds: 1 });
  const result = await bashTool.run({ command: "sleep 1000" }, callContext(shell));
  expect(textOf(result)).toContain("timed out after 1 s");
});
