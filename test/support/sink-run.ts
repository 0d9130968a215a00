import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../lib/engine/event.ts";
import { openSink } from "../../lib/sink/open.ts";
import { OutputStream } from "../../lib/sink/output.ts";
import type { SinkOptions } from "../../lib/sink/sink.ts";
import { makePlace } from "./place.ts";

/** A sink without terminals. */
export const plainOptions = {
  stdoutIsTerminal: false,
  stderrIsTerminal: false,
  stream: false,
  quiet: false,
  verbose: false,
  color: false,
  columns: () => 80,
} as const satisfies Partial<SinkOptions>;

type Options = Partial<Omit<SinkOptions, "stdout" | "stderr">>;

/** What a sink makes of events: both streams, and `both`, which is what a terminal shows that gets the two of them. */
export async function sinkRun(
  events: readonly Event[],
  options: Options = {},
): Promise<{ stdout: string; stderr: string; both: string }> {
  await using place = makePlace();
  const path = (name: string) => join(place.home, name);
  const isOneTerminal = options.stdoutIsTerminal === true && options.stderrIsTerminal === true;
  const stdout = openSync(path(isOneTerminal ? "both" : "stdout"), "a");
  const stderr = openSync(path(isOneTerminal ? "both" : "stderr"), "a");
  const sink = openSink({
    mode: "text",
    ...plainOptions,
    ...options,
    stdout: new OutputStream(stdout, "stdout"),
    stderr: new OutputStream(stderr, "stderr"),
  });
  for (const event of events) await sink.write(event);
  // Both stay open: a spinner that goes on would otherwise be drawn into what another test opens by the same number.
  await sink.flush();

  const read = (name: string) => readFileSync(path(name), "utf8");
  if (isOneTerminal) return { stdout: "", stderr: "", both: read("both") };
  return { stdout: read("stdout"), stderr: read("stderr"), both: "" };
}

export const started: Event = {
  type: "session.start",
  session: "0199",
  root: "0199",
  title: "",
  source: "new",
  resumed: false,
  version: "0.1.0",
  model: "big",
  provider: "corp",
  wire: "chat",
  base_url: null,
  cwd: "/src/app",
  mode: "auto",
  sandbox: { backend: "none", filesystem: "open", network: "open", notes: ["the sandbox is off (--no-sandbox)"] },
  egress: { mode: "allowlist", http_port: null, socks_port: null, allow: [], deny: [] },
  tools: ["Bash", "Read"],
  mcp: [],
  instructions: ["AGENTS.md"],
  skills: [],
  plugins: [],
  skipped: [],
  limits: { max_turns: 200 },
};

export const delta = (text: string): Event => ({ type: "text.delta", text });
export const done = (text: string): Event => ({ type: "text.done", text });
export const said = (text: string): Event[] => [delta(text), done(text)];

export const retried: Event = {
  type: "retry",
  attempt: 1,
  max: 5,
  delay_ms: 200,
  code: "stream",
  message: "Reconnecting… 1/5",
  reason: "The stream broke off",
};

export const failure = { code: "rate_limit", message: "Slow down", retryable: true } as const;

export function call(id: string, tool: string, input: unknown, effect: "read" | "write" = "write"): Event {
  return { type: "tool.start", id, tool, input, effect };
}

type Ending = Partial<Omit<Extract<Event, { type: "tool.end" }>, "type" | "id" | "tool">>;

export function ended(id: string, tool: string, ending: Ending = {}): Event {
  return { type: "tool.end", id, tool, ok: true, duration_ms: 1_234, summary: "", ...ending };
}

export function printed(id: string, text: string): Event {
  return { type: "tool.output", id, stream: "stdout", text };
}

export function finished(text: string, changes: Partial<Omit<Extract<Event, { type: "end" }>, "type">> = {}): Event {
  return {
    type: "end",
    status: "done",
    exit: 0,
    session: "0199",
    text,
    usage: { input: 12_345, cached: 10_000, output: 678, reasoning: null },
    tools: { ok: 0, failed: 0, denied: 0 },
    files_changed: 0,
    executable_changes: [],
    duration_ms: 12_345,
    resume: "koda exec --resume 0199",
    ...changes,
  };
}
