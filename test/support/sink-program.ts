/**
 * A program that writes to its own stdout as koda does, for tests that need a real pipe, a real terminal or a full
 * disk behind it. Its exit code is that of what went wrong.
 */
import { dlopen } from "bun:ffi";
import { readFileSync, writeSync } from "node:fs";
import type { Event } from "../../lib/engine/event.ts";
import { exitByCode, KodaError } from "../../lib/errors.ts";
import { openSink } from "../../lib/sink/open.ts";
import { OutputStream } from "../../lib/sink/output.ts";
import { plainOptions } from "./sink-run.ts";

const programs: Record<string, (...args: string[]) => Promise<void>> = {
  /** So many lines of so many bytes. */
  async lines(count, bytes) {
    const stdout = new OutputStream(1, "stdout");
    for (let line = 0; line < Number(count); line++) await stdout.write(`${String(line).padEnd(Number(bytes) - 1)}\n`);
    await stdout.flush();
    say({ writes: Number(/^syscw: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]) });
  },

  /** The same into a pipe that whoever started us has made non-blocking. */
  async nonblocking(count, bytes) {
    const [setFlags, nonBlocking] = [4, 0o4000];
    const libc = dlopen("libc.so.6", { fcntl: { args: ["i32", "i32", "i32"], returns: "i32" } });
    if (libc.symbols.fcntl(1, setFlags, nonBlocking) !== 0) throw new Error("fcntl failed");
    await programs["lines"]?.(count ?? "", bytes ?? "");
  },

  /** One line, and then nothing happens until stdin ends. */
  async patient() {
    await new OutputStream(1, "stdout").write("first\n");
    await Bun.stdin.text();
  },

  /** Whole megabytes to a reader that does not read; says how many were taken in when it was asked. */
  async blocked() {
    const stdout = new OutputStream(1, "stdout");
    let taken = 0;
    process.once("SIGUSR2", () => {
      say({ taken, rss: process.memoryUsage.rss() });
      process.exit(0);
    });
    const first = stdout.write("x".repeat(1 << 20));
    setTimeout(() => say({ started: true }));
    await first;
    for (taken = 1; taken < 1_000; taken++) await stdout.write("x".repeat(1 << 20));
  },

  /** The events in a file, into a sink; at a null it waits for SIGUSR2. */
  async events(file, options) {
    const events = JSON.parse(readFileSync(file ?? "", "utf8")) as (Event | null)[];
    const sink = openSink({
      mode: "text",
      stdout: new OutputStream(1, "stdout"),
      stderr: new OutputStream(2, "stderr"),
      ...plainOptions,
      columns: () => process.stderr.columns || 80,
      ...JSON.parse(options ?? "{}"),
    });
    for (const event of events) await (event === null ? told() : sink.write(event));
    await sink.flush();
  },
};

function told(): Promise<void> {
  return new Promise((resolve) => process.once("SIGUSR2", () => resolve()));
}

function say(fact: object): void {
  writeSync(2, `${JSON.stringify(fact)}\n`);
}

const [name = "", ...args] = process.argv.slice(2);
try {
  await programs[name]?.(...args);
  process.exit(0);
} catch (error) {
  if (!(error instanceof KodaError)) throw error;
  say({ code: error.code, message: error.message });
  process.exit(exitByCode[error.code]);
}
