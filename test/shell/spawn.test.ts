import { expect, test } from "bun:test";
import { existsSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePlace } from "../support/place.ts";
import { isAlive, makeShell, shellIn, watch } from "../support/shell.ts";

const program = join(import.meta.dir, "../support/shell-program.ts");

test("a command's output, both streams, and its exit code come back", async () => {
  await using shell = makeShell();
  const { ended, heard } = watch(shell, "echo out; echo err >&2; exit 3");
  expect(await ended).toEqual({ exitCode: 3, leftBehind: false });
  expect(heard).toEqual({ stdout: "out\n", stderr: "err\n" });
});

test.each([
  ["true", { exitCode: 0 }],
  ["false", { exitCode: 1 }],
  ["exit 42", { exitCode: 42 }],
  ["no-such-program", { exitCode: 127 }],
  ["./not-executable", { exitCode: 126 }],
  ["kill -SEGV $$", { exitCode: 139, signal: "SIGSEGV" }],
  ["kill -KILL $$", { exitCode: 137, signal: "SIGKILL" }],
  ["kill -40 $$; sleep 1", { exitCode: 168, signal: "signal 40" }],
  ["sh -c 'kill -ABRT $$'; exit $?", { exitCode: 134 }],
  ["-x", { exitCode: 127 }],
])("%s ends with %j", async (line, status) => {
  await using shell = makeShell({}, { "not-executable": "" });
  expect(await watch(shell, line).ended).toMatchObject(status);
});

test("a command starts in the project, with exactly the given environment and a mark", async () => {
  await using place = makePlace();
  await using shell = shellIn(place);
  const { ended, heard } = watch(shell, ["/bin/sh", "-c", "pwd; exec env"], { env: { EXTRA: "1" } });
  await ended;
  const [directory, ...variables] = heard.stdout.trimEnd().split("\n");
  expect(directory).toBe(place.project);
  const names = variables.map((variable) => variable.split("=")[0]);
  expect(names.filter((name) => name !== "PWD").sort()).toEqual(
    [...Object.keys(place.env), "EXTRA", "KODA_CALL"].sort(),
  );
});

test("arguments of a program are not interpreted", async () => {
  await using shell = makeShell();
  const { ended, heard } = watch(shell, ["printf", "%s|", "$HOME", "a b", "*"]);
  await ended;
  expect(heard.stdout).toBe("$HOME|a b|*|");
});

test("the streams can be opened by name, as only real pipes can", async () => {
  await using shell = makeShell();
  const { ended, heard } = watch(shell, "echo out > /dev/stdout; echo err > /dev/stderr; echo t | tee /dev/stderr");
  expect(await ended).toMatchObject({ exitCode: 0 });
  expect(heard).toEqual({ stdout: "out\nt\n", stderr: "err\nt\n" });
});

test("without the C library a command still runs and its group still dies, over sockets", async () => {
  await using place = makePlace();
  const line = "readlink /proc/self/fd/1; sleep 1000 >/dev/null 2>&1 & echo $! >&2; exit 3";
  const child = Bun.spawn([process.execPath, program, line, "--adopt"], {
    cwd: place.project,
    env: { ...process.env, BUN_JSC_useJIT: "0" },
    stdout: "pipe",
  });
  const { result, adopts } = JSON.parse(await child.stdout.text());
  expect(adopts).toBe(false);
  const [, pid = ""] = /^stderr:\n(\d+)\nstdout:\nsocket:/m.exec(result.parts[0].text) ?? [];
  expect(Number(pid)).toBeGreaterThan(1);
  expect(isAlive(Number(pid))).toBe(false);
});

test("stdin is empty, whatever ours is, so that a command that reads it ends", async () => {
  await using place = makePlace();
  const child = Bun.spawn([process.execPath, program, "cat; readlink /proc/self/fd/0"], {
    cwd: place.project,
    stdin: "pipe",
    stdout: "pipe",
  });
  const { result } = JSON.parse(await child.stdout.text());
  expect(result.parts[0].text).toEndWith("stdout:\n/dev/null");
});

test("no file of ours is open in a command, nor those of a command beside it", async () => {
  await using place = makePlace({ secret: "" });
  await using shell = shellIn(place);
  openSync(join(place.project, "secret"), "r");
  const beside = watch(shell, "echo here; exec sleep 1000");
  await beside.prints(/here/);
  const { ended, heard } = watch(shell, "for fd in /proc/self/fd/*; do readlink $fd; done");
  await ended;
  await beside.stop();
  // The loop's own directory handle is gone when it asks.
  const open = heard.stdout
    .trimEnd()
    .split("\n")
    .filter((target) => !target.startsWith("/proc/"));
  expect(open).toEqual(["/dev/null", expect.stringMatching(/^pipe:/), expect.stringMatching(/^pipe:/)]);
});

test("a broken pipe kills a writer, as everywhere else", async () => {
  await using shell = makeShell();
  const { ended, heard } = watch(shell, "yes | head -1; echo ${PIPESTATUS[0]}; grep SigIgn /proc/self/status");
  await ended;
  expect(heard.stdout).toBe("y\n141\nSigIgn:\t0000000000000000\n");
});

test("a command leads a session and a group of its own", async () => {
  await using shell = makeShell();
  const { pid, ended, heard } = watch(shell, "cut -d' ' -f5,6 /proc/$$/stat");
  await ended;
  expect(heard.stdout).toBe(`${pid} ${pid}\n`);
});

test("the limit of open files is the one that we were given, not the one that our runtime set itself", async () => {
  await using place = makePlace();
  const line = `ulimit -Sn 777; "$0" "$1" 'ulimit -Sn; ulimit -Hn'; exit $?`;
  const child = Bun.spawn(["sh", "-c", line, process.execPath, program], { cwd: place.project, stdout: "pipe" });
  const { result } = JSON.parse(await child.stdout.text());
  const [, , soft, hard] = result.parts[0].text.split("\n");
  expect(soft).toBe("777");
  expect(Number(hard)).toBeGreaterThan(777);
});

test("a background process without output does not hold the call, and dies with it", async () => {
  await using shell = makeShell();
  const started = performance.now();
  const { ended, heard } = watch(shell, "sleep 1000 >/dev/null 2>&1 & echo $!");
  expect(await ended).toEqual({ exitCode: 0, leftBehind: true });
  expect(performance.now() - started).toBeLessThan(1_900);
  expect(isAlive(Number(heard.stdout))).toBe(false);
});

test("what a background process still prints in that time is part of the output", async () => {
  await using shell = makeShell();
  const { ended, heard } = watch(shell, "(sleep 0.2; echo late) & echo early");
  expect(await ended).toEqual({ exitCode: 0, leftBehind: false });
  expect(heard.stdout).toBe("early\nlate\n");
});

test("after the timeout the whole group is gone, and what it said is kept", async () => {
  await using shell = makeShell();
  const { ended, heard } = watch(shell, "sleep 1000 & echo $!; echo said; wait", { timeoutMs: 300 });
  expect(await ended).toMatchObject({ exitCode: 143, signal: "SIGTERM", stopped: "timeout" });
  expect(heard.stdout).toContain("said\n");
  expect(isAlive(Number.parseInt(heard.stdout, 10))).toBe(false);
});

test("a command has the two seconds to clean up, and what it says then is heard", async () => {
  await using shell = makeShell();
  const running = watch(shell, "trap 'sleep 0.2; echo cleaned; exit 9' TERM; echo ready; while :; do sleep 0.05; done");
  await running.prints(/ready/);
  expect(await running.stop()).toMatchObject({ exitCode: 9, stopped: "stop" });
  expect(running.heard.stdout).toBe("ready\ncleaned\n");
});

test("a stopped process hears of it too", async () => {
  await using shell = makeShell();
  const started = performance.now();
  const running = watch(shell, "echo ready; kill -STOP $$");
  await running.prints(/ready/);
  expect(await running.stop()).toMatchObject({ signal: "SIGTERM" });
  expect(performance.now() - started).toBeLessThan(1_900);
});

test("an abort stops the command at once, and one that came before it starts does too", async () => {
  await using shell = makeShell();
  const controller = new AbortController();
  const running = watch(shell, "echo ready; sleep 1000", { signal: controller.signal });
  await running.prints(/ready/);
  controller.abort();
  expect(await running.ended).toMatchObject({ stopped: "abort" });
  expect(isAlive(running.pid)).toBe(false);
  const late = watch(shell, "sleep 1000", { signal: controller.signal });
  expect(await late.ended).toMatchObject({ stopped: "abort" });
});

test.each(["setsid", "env -i setsid"])(
  "what `%s` started is stopped with its command, and only then",
  async (program) => {
    await using shell = makeShell();
    const other = watch(shell, `${program} sh -c 'echo $$; exec sleep 1000' & wait`);
    const [otherEscaped] = await other.prints(/\d+(?=\n)/);
    const running = watch(shell, `(${program} sh -c 'echo $$; exec sleep 1000' &) ; sleep 1000`);
    const [escaped] = await running.prints(/\d+(?=\n)/);
    await running.stop();
    expect(isAlive(Number(escaped))).toBe(false);
    expect(isAlive(Number(otherEscaped))).toBe(true);
    await shell.stopAll();
    expect(isAlive(other.pid)).toBe(false);
    expect(isAlive(Number(otherEscaped))).toBe(false);
  },
);

test("a daemon that a command started outlives the command but not the shell", async () => {
  await using shell = makeShell();
  const line = "setsid sh -c 'setsid sh -c \"echo \\$\\$; exec sleep 1000 >/dev/null 2>&1\" & exit'; exit 5";
  const { prints, ended } = watch(shell, line);
  const [daemon] = await prints(/\d+(?=\n)/);
  expect(await ended).toMatchObject({ exitCode: 5, leftBehind: false });
  expect(isAlive(Number(daemon))).toBe(true);
  await shell.stopAll();
  expect(isAlive(Number(daemon))).toBe(false);
});

test("two shells in one process do not stop each other's commands", async () => {
  await using place = makePlace();
  await using mine = shellIn(place);
  await using other = shellIn(place);
  const running = watch(other, "echo ready; setsid sleep 1000 & wait");
  await running.prints(/ready/);
  await watch(mine, "true").ended;
  await mine.stopAll();
  expect(isAlive(running.pid)).toBe(true);
});

test("stopping everything is immediate when there is nothing to stop", async () => {
  await using shell = makeShell();
  const started = performance.now();
  await shell.stopAll();
  shell.killNow();
  expect(performance.now() - started).toBeLessThan(1_000);
});

test("commands side by side keep their outputs apart", async () => {
  await using shell = makeShell();
  const commands = Array.from({ length: 20 }, (_, n) => watch(shell, `for i in 1 2 3; do echo ${n}; done; exit ${n}`));
  for (const [n, { ended, heard }] of commands.entries()) {
    expect(await ended).toMatchObject({ exitCode: n });
    expect(heard.stdout).toBe(`${n}\n`.repeat(3));
  }
});

test("many commands leave no file open", async () => {
  await using shell = makeShell();
  const openFiles = () => [...new Bun.Glob("*").scanSync({ cwd: "/proc/self/fd", onlyFiles: false })].length;
  await watch(shell, "true").ended;
  const before = openFiles();
  for (let n = 0; n < 30; n++) await watch(shell, "sleep 1000 & wait", { timeoutMs: 1 }).ended;
  expect(openFiles()).toBeLessThanOrEqual(before + 2);
});

test("what cannot be started is refused with the reason", async () => {
  await using place = makePlace();
  await using shell = shellIn(place);
  const refusal =
    (...[line, options]: Parameters<typeof start>) =>
    () =>
      start(line, options);
  const start = (line: Parameters<typeof shell.start>[0], options = {}) => watch(shell, line, options);
  expect(refusal("true", { cwd: join(place.project, "gone") })).toThrow(/the directory ".*gone" does not exist/);
  expect(refusal(["no-such-program", "x"])).toThrow('there is no program "no-such-program" on the PATH');
  expect(refusal(`: ${"x".repeat(200_000)}`)).toThrow(/is 200002 bytes long .* write it to a file/);
  expect(refusal("echo a\0b")).toThrow("NUL");
  writeFileSync(join(place.project, "script"), "no shebang", { mode: 0o755 });
  expect(refusal(["./script"])).toThrow(/Cannot run "\.\/script"/);
});

test("a program in the project is not taken for one on the PATH", async () => {
  await using place = makePlace();
  writeFileSync(join(place.project, "bash"), "#!/bin/sh\necho hijacked\n", { mode: 0o755 });
  const child = Bun.spawn([process.execPath, program, "echo ${BASH_VERSION:+bash}"], {
    cwd: place.project,
    env: { ...process.env, PATH: `.::${process.env.PATH ?? ""}` },
    stdout: "pipe",
  });
  const { result } = JSON.parse(await child.stdout.text());
  expect(result.parts[0].text).toEndWith("stdout:\nbash");
});

test.concurrent("a background process that holds the pipes is waited for no longer than two seconds", async () => {
  await using shell = makeShell();
  const started = performance.now();
  const { ended, heard } = watch(shell, "sleep 1000 & echo $!");
  expect(await ended).toEqual({ exitCode: 0, leftBehind: true });
  expect(performance.now() - started).toBeWithin(1_900, 10_000);
  expect(isAlive(Number(heard.stdout))).toBe(false);
});

test.concurrent("a group that ignores TERM is killed two seconds later", async () => {
  await using shell = makeShell();
  const started = performance.now();
  const line = "trap '' TERM; (while :; do sleep 0.1; done) & echo $!; wait";
  const { ended, heard } = watch(shell, line, { timeoutMs: 100 });
  expect(await ended).toMatchObject({ exitCode: 137, signal: "SIGKILL", stopped: "timeout" });
  expect(performance.now() - started).toBeWithin(2_000, 10_000);
  expect(isAlive(Number(heard.stdout))).toBe(false);
});

test.concurrent(
  "whoever holds the output after the call is over writes into a broken pipe, not into our memory",
  async () => {
    await using place = makePlace();
    await using shell = shellIn(place);
    const daemon = "trap '' PIPE; while echo x; do sleep 0.02; done 2>/dev/null; touch broken";
    expect(await watch(shell, ["bash", "-c", 'setsid bash -c "$0" & exit', daemon]).ended).toMatchObject({
      exitCode: 0,
    });
    while (!existsSync(join(place.project, "broken"))) await Bun.sleep(10);
  },
);
