import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { unlessRefused } from "../../lib/errors.ts";
import { type FleetEvent, fleetEventSchema } from "../../lib/fleet/events.ts";
import { openLocalFleet } from "../../lib/fleet/local/local.ts";
import type { BatchSettings, FleetStore, TaskResult } from "../../lib/fleet/store.ts";
import type { FleetTask } from "../../lib/fleet/task.ts";
import { waitUntilGone } from "../../lib/system/kill.ts";
import { livingProcesses } from "../../lib/system/procstat.ts";
import { start } from "./koda.ts";
import type { ModelServer } from "./model-server.ts";
import type { Place } from "./place.ts";
import type { Running } from "./run.ts";

export const database = ({ home }: Pick<Place, "home">) => join(home, ".local/share/koda/koda.db");
export const batches = ({ home }: Pick<Place, "home">) => join(home, ".cache/koda/batches");

/** The store of this place, as koda's commands have it. */
export function openStoreOf(place: Place): FleetStore {
  mkdirSync(dirname(database(place)), { recursive: true });
  return openLocalFleet(database(place));
}

export const usualSettings: BatchSettings = {
  retries: 3,
  keepGoing: true,
  transcripts: "redacted",
  leaseMs: 30_000,
};

export function taskOf(server: ModelServer, task: Partial<FleetTask> & { key: string }): FleetTask {
  const { args = [], ...rest } = task;
  const modelFlags = ["--model=scripted", `--base-url=${server.url}`];
  return { prompt: `Do ${task.key}`, after: [], group: "g", labels: [], ...rest, args: [...modelFlags, ...args] };
}

export async function submit(
  store: FleetStore,
  tasks: readonly FleetTask[],
  settings: Partial<BatchSettings> = {},
): Promise<string> {
  const batch = `b${Math.random().toString(36).slice(2, 10)}`;
  await store.submit(batch, { ...usualSettings, ...settings }, tasks);
  return batch;
}

export async function resultsOf(store: FleetStore, batch: string): Promise<Record<string, TaskResult>> {
  const results = await Array.fromAsync(store.results(batch));
  return Object.fromEntries(results.map((result) => [result.key, result]));
}

/** Starts `koda worker --json` in a place. */
export function startWorker(place: Place, args: readonly string[] = [], env: Record<string, string> = {}) {
  return followWorker(start(place, ["worker", "--json", ...args], { env }));
}

export type WorkerUnderTest = ReturnType<typeof followWorker>;

function followWorker(child: Running) {
  const events: FleetEvent[] = [];
  const waiting = new Set<() => void>();
  const reading = read();
  async function read() {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      events.push(...lines.map((line) => fleetEventSchema.parse(JSON.parse(line))));
      for (const wake of waiting) wake();
    }
    for (const wake of waiting) wake();
  }
  return {
    child,
    events,
    /** The first event that passes, of those that there were and those to come. */
    async until<T extends FleetEvent["type"]>(type: T, key?: string): Promise<Extract<FleetEvent, { type: T }>> {
      const isWanted = (event: FleetEvent): event is Extract<FleetEvent, { type: T }> =>
        event.type === type && (key === undefined || ("key" in event && event.key === key));
      while (true) {
        const found = events.find(isWanted);
        if (found !== undefined) return found;
        if (child.exitCode !== null || child.signalCode !== null) {
          await reading;
          const late = events.find(isWanted);
          if (late !== undefined) return late;
          const said = await child.stderr.text();
          throw new Error(`The worker ended before ${type}: ${JSON.stringify(events)}\n${said}`);
        }
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.add(resolve);
        await Promise.race([promise, child.exited]);
        waiting.delete(resolve);
      }
    },
    async exit(): Promise<number | null> {
      await child.exited;
      await reading;
      return child.exitCode;
    },
  };
}

/** A repository with one commit on `main`, beside the project; returns its path. */
export function makeRepository(place: Place, files: Record<string, string | Uint8Array>, name = "origin"): string {
  const path = join(dirname(place.project), name);
  git(place, path, "init", "--quiet", "--initial-branch=main");
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), content);
  }
  git(place, path, "add", "--all");
  git(place, path, "commit", "--quiet", "--message=first");
  return path;
}

export function git(place: Place, path: string, ...args: string[]): string {
  mkdirSync(path, { recursive: true });
  const identity = ["-c", "user.name=Someone", "-c", "user.email=someone@example.com"];
  const env = { ...place.env, GIT_CONFIG_NOSYSTEM: "1" };
  const { exitCode, stdout, stderr } = Bun.spawnSync(["git", ...identity, ...args], { cwd: path, env });
  if (exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${stderr.toString()}`);
  return stdout.toString();
}

/** The programs that were started in a place and live, by their command lines. */
export function processesOf({ home }: Pick<Place, "home">): string[] {
  return (livingProcesses() ?? []).flatMap(({ pid }) => {
    const environment = unlessRefused(() => readFileSync(`/proc/${pid}/environ`, "latin1")) ?? "";
    if (!environment.split("\0").includes(`HOME=${home}`)) return [];
    return `${pid} ${(unlessRefused(() => readFileSync(`/proc/${pid}/cmdline`, "latin1")) ?? "").replaceAll("\0", " ")}`;
  });
}

/** Resolves when no such program lives any more, and fails when that takes too long. */
export async function untilGone(place: Pick<Place, "home">): Promise<void> {
  const isGone = await waitUntilGone(() => processesOf(place).map((_, index) => index), 20_000);
  if (!isGone) throw new Error(`These go on:\n${processesOf(place).join("\n")}`);
}
