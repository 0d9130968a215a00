import type { AgentCalls } from "../../lib/tools/agentcalls.ts";
import { readdirSync, readFileSync } from "node:fs";
import { Refusals } from "../../lib/egress/refusals/refusals.ts";
import { unlessRefused } from "../../lib/errors.ts";
import { unconfined } from "../../lib/sandbox/backend.ts";
import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import type { StoredOutput } from "../../lib/session/outputs.ts";
import { Tasks } from "../../lib/shell/background.ts";
import type { Job } from "../../lib/shell/job.ts";
import { Shell, type ShellOptions, type StartOptions } from "../../lib/shell/shell.ts";
import { statOf } from "../../lib/system/procstat.ts";
import { makePlace, type Place } from "./place.ts";
import { policyOf } from "./policy.ts";

/** A shell in a test's own project, which leaves nothing behind when the test is over. */
export function shellIn(place: Place, options: Partial<ShellOptions> = {}): Shell {
  const given = { backend: unconfined, policy: policyOf(place), env: place.env, ...options };
  const shell = new Shell(given);
  policies.set(shell, given.policy);
  return shell;
}

/** Calls have the policy of their conversation's shell. */
const policies = new WeakMap<Shell, Policy>();

/** The same in a project of its own. */
export function makeShell(options: Partial<ShellOptions> = {}, files: Record<string, string> = {}): Shell {
  const place = makePlace(files);
  const shell = shellIn(place, options);
  const dispose = async () => {
    await shell.stopAll();
    await place[Symbol.asyncDispose]();
  };
  return Object.assign(shell, { [Symbol.asyncDispose]: dispose });
}

/** A command whose output a test can wait for. */
export function watch(shell: Shell, line: Parameters<Shell["start"]>[0], options: Partial<StartOptions> = {}) {
  const heard = { stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  const listen = (stream: "stdout" | "stderr") => (bytes: Uint8Array) => {
    heard[stream] += Buffer.from(bytes).toString("latin1");
    for (const listener of listeners) listener();
  };
  const job: Job = shell.start(line, { stdout: listen("stdout"), stderr: listen("stderr"), ...options });
  return {
    pid: job.pid,
    ended: job.ended,
    stop: async () => job.stop(),
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

/** There is still a process, other than one that only waits to be reaped. */
export function isAlive(pid: number): boolean {
  return statOf(pid)?.isDead === false;
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
    policy: policies.get(shell) ?? policyOf({ home: "/nowhere/home", project: "/nowhere/project" }),
    shell,
    tasks: new Tasks(shell),
    agents: noAgents,
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

/** The agents of a conversation that has started none. */
const noAgents: AgentCalls = {
  start: () => Promise.reject(new Error("no agent can be started here")),
  background: { list: () => [], look: () => undefined, stop: async () => undefined, send: () => undefined },
};
