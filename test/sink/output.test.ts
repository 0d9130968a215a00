import { expect, test } from "bun:test";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { makePlace } from "../support/place.ts";

const program = `${process.execPath} ${join(import.meta.dir, "../support/sink-program.ts")}`;

/** A shell line with `koda` standing for the program; what the program says on stderr, and what the line prints. */
async function shell(line: string): Promise<{ stdout: string; said: Record<string, unknown>; exit: number }> {
  const script = `koda() { ${program} "$@"; }\n${line}`;
  const child = Bun.spawn(["bash", "-c", script], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const exit = await child.exited;
  return { stdout, said: stderr === "" ? {} : JSON.parse(stderr), exit };
}

test("many small lines come out whole and in order", async () => {
  const { stdout } = await shell("koda lines 20000 50");
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(20_000);
  expect(lines.every((line, index) => Number(line) === index)).toBe(true);
});

test("many small lines share system calls", async () => {
  const { said } = await shell("koda lines 20000 50 | cat > /dev/null");
  expect(said["writes"]).toBeLessThan(4_000);
});

test("a pipe that somebody made non-blocking loses nothing", async () => {
  const { stdout } = await shell("koda nonblocking 3 1048576 | { sleep 0.2; wc -c; }");
  expect(Number(stdout)).toBe(3 * 1_048_576);
});

test("a line leaves the process while the program goes on", async () => {
  const child = Bun.spawn([...program.split(" "), "patient"], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  expect(new TextDecoder().decode(value)).toBe("first\n");
  await child.stdin.end();
  expect(await child.exited).toBe(0);
});

test("a closed stdout is an error, although the runtime puts /dev/null in its place", async () => {
  const { said, exit } = await shell("koda lines 1 50 >&-");
  expect(said["message"]).toStartWith("Cannot write to stdout: bad file descriptor (EBADF)");
  expect(exit).toBe(11);
});

test("/dev/null is as good a reader as any", async () => {
  const { said, exit } = await shell("koda lines 10 50 > /dev/null");
  expect(said).toHaveProperty("writes");
  expect(exit).toBe(0);
});

test("a reader that does not read holds the writer up, and memory stays small", async () => {
  await using place = makePlace();
  const fifo = join(place.project, "fifo");
  expect(Bun.spawnSync(["mkfifo", fifo]).exitCode).toBe(0);
  // Open for both, so that opening waits for nobody and the pipe has a reader, who never reads.
  const both = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  const child = Bun.spawn([...program.split(" "), "blocked"], { stdin: "ignore", stdout: both, stderr: "pipe" });
  closeSync(both);

  const reader = child.stderr.getReader();
  const decoder = new TextDecoder();
  await reader.read();
  child.kill("SIGUSR2");
  const { value } = await reader.read();
  const { taken, rss } = JSON.parse(decoder.decode(value)) as { taken: number; rss: number };
  expect(taken).toBeLessThan(3);
  expect(rss).toBeLessThan(200e6);
  expect(await child.exited).toBe(0);
});
