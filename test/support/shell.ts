import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Refusals } from "../../lib/egress/refusals/refusals.ts";
import { unlessRefused } from "../../lib/errors.ts";
import { unconfined } from "../../lib/sandbox/backend.ts";
import type { StoredOutput } from "../../lib/session/outputs.ts";
import { createTasks } from "../../lib/shell/background.ts";
import { createShell, type Shell, type StartOptions } from "../../lib/shell/spawn.ts";
import type { Running } from "../../lib/shell/supervise.ts";
import type { Place } from "./place.ts";
import { policyOf } from "./policy.ts";

/** A shell in a test's own project, which leaves nothing behind when the test is over. */
export function shellIn(place: Place, options: { maxSeconds?: number } = {}): Shell & AsyncDisposable {
  const shell = createShell({ backend: unconfined, policy: policyOf(place), env: place.env, ...options });
  return { ...shell, [Symbol.asyncDispose]: async () => shell.stopAll() };
}

/** A command whose output a test can wait for. */
export function watch(shell: Shell, line: Parameters<Shell["start"]>[0], options: Partial<StartOptions> = {}) {
  const heard = { stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  const listen = (stream: "stdout" | "stderr") => (bytes: Uint8Array) => {
    heard[stream] += Buffer.from(bytes).toString("latin1");
    for (const listener of listeners) listener();
  };
  const running: Running = shell.start(line, { stdout: listen("stdout"), stderr: listen("stderr"), ...options });
  return {
    ...running,
    heard,
    /** Settles with the match when the output so far matches. */
    async prints(pattern: RegExp): Promise<RegExpExecArray> {
      const { promise, resolve } = Promise.withResolvers<RegExpExecArray>();
      const look = () => {
        const match = pattern.exec(heard.stdout);
        if (match !== null) resolve(match);
      };
      listeners.add(look);
      look();
      return promise;
    },
  };
}

/** Is there still a process, other than one whose end nobody has taken notice of? */
export function isAlive(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return false;
  return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(path, "latin1"));
}

/** The living processes in whose command line a text stands; its arguments are told apart by NUL bytes. */
export function processesNaming(text: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .map(Number)
    .filter((pid) => unlessRefused(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"))?.includes(text));
}

/** What a shell tool gets of a call, with a store that a test can look into. */
export function callContext(shell: Shell, signal = new AbortController().signal) {
  const stored = new Map<string, StoredOutput>();
  const shown: { stream: "stdout" | "stderr"; text: string }[] = [];
  let saves = 0;
  let ids = 0;
  return {
    call: "call-1",
    signal,
    refusals: new Refusals(undefined),
    policy: policyOf({ home: "/nowhere/home", project: "/nowhere/project" }),
    shell,
    tasks: createTasks(shell),
    variables: () => ({}),
    outputs: {
      reserve: () => `o${++ids}`,
      save(output: StoredOutput) {
        saves++;
        stored.set(output.id, output);
      },
      load: (id: string) => stored.get(id),
    },
    report: (stream: "stdout" | "stderr", text: string) => void shown.push({ stream, text }),
    stored,
    shown,
    saves: () => saves,
  };
}
