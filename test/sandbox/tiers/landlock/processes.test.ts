import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { syscalls } from "../../../../lib/sandbox/assembly/syscalls.ts";
import { asNobody } from "../../../support/nobody.ts";
import { makePlace, type Place } from "../../../support/place.ts";
import { isAlive } from "../../../support/shell.ts";
import { type OpenTier, openTier, users } from "../../../support/tiers.ts";
import { until } from "../../../support/until.ts";
import { python } from "../../supervisor/supervised.ts";

const numberOf = (name: "ptrace" | "process_vm_readv") => syscalls[name][process.arch === "arm64" ? 1 : 0];

describe.each(users)("in the Landlock tier, as %s,", (user) => {
  let place: Place;
  let tier: OpenTier;
  let stranger: Bun.Subprocess;
  beforeAll(async () => {
    place = makePlace();
    tier = await openTier("landlock", place, { user });
    const line = [...(user === "nobody" ? asNobody : []), "sleep", "600"];
    stranger = Bun.spawn(line, { cwd: "/", env: { SECRET: "of a stranger" }, stdio: ["ignore", "ignore", "ignore"] });
  });
  afterAll(async () => {
    stranger.kill("SIGKILL");
    await tier[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  });

  test("a command ends as it would elsewhere", async () => {
    expect(await tier.run("exit 42")).toMatchObject({ exit: 42 });
    expect(await tier.run("kill -TERM $$")).toMatchObject({ exit: 143, signal: "SIGTERM" });
    expect(await tier.run("kill -KILL $$")).toMatchObject({ exit: 137, signal: "SIGKILL" });
    expect(await tier.run(["/bin/bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}"])).toMatchObject({
      exit: 0,
      stdout: "y\n141\n",
    });
    await expect(tier.run(["/nowhere/program"])).rejects.toThrow("/nowhere/program");
  });

  test("a command has no rights, no descriptors but its streams, and no signal that is ignored or held back", async () => {
    const { stdout } = await tier.run("cat /proc/self/status; ls /proc/$$/fd; ps -o ppid= -p $$");
    expect(stdout).toMatch(/^CapEff:\s0000000000000000$/m);
    expect(stdout).toMatch(/^CapPrm:\s0000000000000000$/m);
    expect(stdout).toMatch(/^NoNewPrivs:\s1$/m);
    expect(stdout).toMatch(/^Seccomp:\s2$/m);
    expect(stdout).toMatch(/^SigIgn:\s0000000000000000$/m);
    expect(stdout).toMatch(/^SigBlk:\s0000000000000000$/m);
    expect(stdout).toMatch(/^0\n1\n2\n\s*\d+$/m);
    // The program that confines the command becomes the command.
    expect(Number(/\d+\s*$/.exec(stdout)?.[0])).toBe(tier.pid);
  });

  test("a command signals its own processes and no others", async () => {
    const { exit } = await tier.run("sleep 600 & kill $! && wait $!");
    expect(exit).toBe(143);
    for (const pid of [tier.pid, stranger.pid]) {
      const { exit: refused, stderr } = await tier.run(`kill -0 ${pid} || kill -CONT ${pid}`);
      expect(refused).toBe(1);
      expect(stderr).toContain("Operation not permitted");
    }
  });

  test("a command neither traces others nor reads their secrets", async () => {
    const { stdout } = await tier.run([
      python,
      "-IS",
      "-c",
      `
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    return "done" if libc.syscall(number, *arguments) >= 0 else errno.errorcode[ctypes.get_errno()]
def read(path):
    try: return open(path, "rb").read(64)
    except OSError as error: return errno.errorcode[error.errno]
for pid in (${tier.pid}, ${stranger.pid}):
    print(call(${numberOf("ptrace")}, 0x4206, pid, 0, 0), call(${numberOf("process_vm_readv")}, pid, 0, 0, 0, 0, 0),
          read(f"/proc/{pid}/environ"), read(f"/proc/{pid}/mem"), read(f"/proc/{pid}/cwd/project"))`,
    ]);
    expect(stdout).toBe("EPERM EPERM EACCES EACCES EACCES\n".repeat(2));
  });

  test("a command chooses its own priority and processors, and nobody else's priority", async () => {
    const { stdout } = await tier.run([
      python,
      "-IS",
      "-c",
      `
import errno, os, threading
def tried(action, *arguments):
    try: action(*arguments)
    except OSError as error: return errno.errorcode[error.errno]
    return "done"
ordinary = lambda pid: tried(os.sched_setscheduler, pid, os.SCHED_OTHER, os.sched_param(0))
def thread():
    own = threading.get_native_id()
    print(tried(os.sched_setaffinity, own, os.sched_getaffinity(0)), ordinary(own))
worker = threading.Thread(target=thread); worker.start(); worker.join()
print(tried(os.nice, 1), tried(os.sched_setscheduler, 0, os.SCHED_BATCH, os.sched_param(0)))
# Where this was let through, only a process of the test would be another.
print(tried(os.setpriority, os.PRIO_PROCESS, ${stranger.pid}, os.getpriority(os.PRIO_PROCESS, ${stranger.pid})),
      tried(os.sched_setscheduler, ${stranger.pid}, os.SCHED_BATCH, os.sched_param(0)))`,
    ]);
    expect(stdout.trim().split("\n")).toEqual(["done done", "done done", "EPERM EPERM"]);
  });

  test("a command has no memory, semaphores or queues that are the machine's", async () => {
    const { stdout } = await tier.run([
      python,
      "-IS",
      "-c",
      `
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def made(name, *arguments):
    return "made" if getattr(libc, name)(*arguments) >= 0 else errno.errorcode[ctypes.get_errno()]
print(made("shmget", 0, 4096, 0o1600), made("semget", 0, 1, 0o1600), made("msgget", 0, 0o1600), made("mq_open", b"/koda-test", 0))`,
    ]);
    expect(stdout).toBe("ENOSYS ENOSYS ENOSYS ENOSYS\n");
  });

  test("user 0 gets nowhere near the kernel", async () => {
    const paths = ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper"];
    const { stdout } = await tier.run([
      python,
      "-IS",
      "-c",
      `
import errno, os
for path in ${JSON.stringify(paths)}:
    try: os.close(os.open(path, os.O_WRONLY))
    except OSError as error: print(errno.errorcode[error.errno])
    else: print("opened")`,
    ]);
    expect(stdout).not.toContain("opened");
    const { stdout: devices } = await tier.run("mknod device b 7 0; ls");
    expect(devices).toBe("");
  });

  test("eight commands at once do not disturb each other", async () => {
    const ran = await Promise.all(
      Array.from({ length: 8 }, async (_, index) =>
        tier.run(`echo ${index} > at-${index} && cat at-${index}; exit ${index}`),
      ),
    );
    expect(ran.map(({ exit, stdout }) => [exit, stdout.trim()])).toEqual(ran.map((_, index) => [index, String(index)]));
  });

  test("what a command leaves running is stopped, even what left its group", async () => {
    const left = tier.start("setsid sleep 600 > /dev/null 2>&1 & echo $!; sleep 600");
    const escaped = Number((await left.prints(/\d+/))[0]);
    expect(isAlive(escaped)).toBe(true);
    await left.stop();
    await until(() => !isAlive(escaped));
  });

  test("limits hold for each command", async () => {
    const { stdout } = await tier.run("ulimit -u");
    expect(Number(stdout)).toBeLessThanOrEqual(8192);
  });
});

test.each(users)("a command ends with koda, even when that is killed, as %s", async (user) => {
  await using place = makePlace();
  const tier = await openTier("landlock", place, { user });
  const command = tier.start("echo $$; exec sleep 600");
  const pid = Number((await command.prints(/\d+/))[0]);
  expect(readFileSync(`/proc/${pid}/comm`, "utf8")).toMatch(/sleep|bash|sh/);
  process.kill(tier.pid, "SIGKILL");
  await until(() => !isAlive(pid));
  await tier[Symbol.asyncDispose]();
});
