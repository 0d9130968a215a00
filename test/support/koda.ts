import { expect } from "bun:test";
import { resolve } from "node:path";
import { type Line, lineSchema } from "../../lib/engine/event.ts";
import type { ModelServer } from "./model-server.ts";
import type { Place } from "./place.ts";
import { type Ran, runIn, type Running, type RunOptions, spawnIn } from "./run.ts";

export const binary = resolve("dist/koda");

export type { Line } from "../../lib/engine/event.ts";
export type EndLine = Extract<Line, { type: "end" }>;

export type RanExec = Ran & { events: Line[]; end: EndLine };

/** Runs the binary to its end. */
export async function koda(place: Place, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return runIn(place, [binary, ...args], options);
}

/** Starts the binary, for tests that talk to it while it runs. */
export function start(place: Place, args: readonly string[], options: RunOptions = {}) {
  return spawnIn(place, [binary, ...args], options);
}

/** The flags that point `koda exec` at a scripted server. */
export function using({ url }: Pick<ModelServer, "url">, model = "scripted"): string[] {
  return ["-m", model, "--base-url", url];
}

/**
 * `koda exec --output jsonl` against a scripted server. Whatever the test is about, the promises of the event stream
 * are checked on the way: every line matches the schema, no number is missing, and the last line, the only `end`,
 * says what the process then exits with.
 */
export async function exec(
  place: Place,
  server: ModelServer,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RanExec> {
  const ran = await koda(place, ["exec", "--output", "jsonl", ...using(server), ...args], options);
  return { ...ran, ...checkLines(ran) };
}

export function checkLines({ stdout, stderr, exit }: Ran): { events: Line[]; end: EndLine } {
  expect(stdout.endsWith("\n"), `stdout ends with a whole line\n${stdout.slice(-500)}\nstderr: ${stderr}`).toBe(true);
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => {
      const { data, error } = lineSchema.safeParse(JSON.parse(line));
      if (data === undefined) throw new Error(`This line does not match the schema: ${line}\n${error?.message}`);
      return data;
    });
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
  expect(events.filter(({ type }) => type === "end")).toHaveLength(1);
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error(`The last line is not the end: ${JSON.stringify(end)}`);
  expect(end.exit, "the last line says what the process exits with").toBe(exit ?? -1);
  return { events, end };
}

/** Reads a running koda's events as they come. */
export function follow(child: Running) {
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let stdout = "";
  let read = 0;

  async function more(): Promise<boolean> {
    const { value, done } = await reader.read();
    stdout += decoder.decode(value, { stream: !done });
    return !done;
  }

  return {
    /** The next line, after those already seen, that passes. */
    async until(passes: (line: Line) => boolean): Promise<Line> {
      while (true) {
        const newline = stdout.indexOf("\n", read);
        if (newline === -1) {
          if (await more()) continue;
          throw new Error(`The run ended before the line came:\n${stdout}\n${await child.stderr.text()}`);
        }
        const line = lineSchema.parse(JSON.parse(stdout.slice(read, newline)));
        read = newline + 1;
        if (passes(line)) return line;
      }
    },
    async finished(): Promise<RanExec> {
      while (await more());
      const [stderr] = await Promise.all([child.stderr.text(), child.exited]);
      const signal = child.signalCode === null ? null : String(child.signalCode);
      const ran = { exit: child.exitCode, signal, stdout, stderr };
      return { ...ran, ...checkLines(ran) };
    },
  };
}
