import { chownSync, lchownSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Backend } from "../../lib/sandbox/backend.ts";
import type { Grants, Policy } from "../../lib/sandbox/policy/policy.ts";
import type { TierOptions } from "../../lib/sandbox/tiers/tier.ts";
import type { CommandLine } from "../../lib/shell/program.ts";
import type { Ended } from "../../lib/shell/job.ts";
import { kept } from "./kept.ts";
import { asNobody, isRoot, nobody } from "./nobody.ts";
import type { Place } from "./place.ts";

export type TierName = "namespaces" | "bwrap" | "landlock" | "none";
/** A guest is root in a project that belongs to another user. */
export type User = "root" | "nobody" | "guest";

/** Without root's rights there is nobody but oneself to be. */
export const users: readonly User[] = isRoot ? ["root", "nobody"] : ["nobody"];

/** For what has to hold for every right that commands may have. */
export const everyUser: readonly User[] = isRoot ? [...users, "guest"] : users;

/** Whom a guest's project belongs to; no account has this number. */
export const host = 41_234;

export type Rules = {
  user?: User;
  /** What the run is granted beside its project. */
  grants?: Partial<Omit<Grants, "resolve" | "tmp" | "privateTmp">>;
  /** What tiers are told of the surroundings: the proxies' places, another version of Landlock. */
  /** New repositories are judged after each command, also where the tier needs no guard for those that are there. */
  guarded?: boolean;
  circumstances?: Partial<Omit<TierOptions, "onRefusal">>;
  /** Variables that commands see, beside those that the engine lets through. */
  env?: Record<string, string>;
};

export type CommandOptions = {
  cwd?: string;
  env?: Record<string, string>;
  timeoutMs?: number;
  /** A policy for this command alone. */
  policy?: Policy;
};

/** How a command ended and what it printed, byte by byte (latin1). */
export type Ran = { exit: number; stdout: string; stderr: string } & Omit<Ended, "exitCode">;

export type Background = {
  readonly id: number;
  /** Settles with the number of the process that was spawned. */
  readonly pid: Promise<number>;
  readonly heard: { stdout: string; stderr: string };
  readonly ended: Promise<Ran>;
  /** Settles with the match when what it printed so far matches. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  stop(): Promise<Ran>;
};

/** A tier that is open, and in which any number of commands run, one after another or side by side. */
export type OpenTier = AsyncDisposable & {
  /** The process that is koda to the commands. */
  readonly pid: number;
  readonly policy: Policy;
  readonly backend: Omit<Backend, "protect" | "confine" | typeof Symbol.dispose>;
  /** What commands were not allowed to connect to, in words, as it becomes known. */
  readonly refusals: readonly string[];
  run(command: CommandLine, options?: CommandOptions): Promise<Ran>;
  start(command: CommandLine, options?: CommandOptions): Background;
  protect(paths: readonly string[]): void;
};

/** What the process that holds the tier is told at its start, then, and what it tells. */
export type Wanted = {
  tier: TierName;
  grants: Omit<Grants, "resolve" | "tmp" | "privateTmp">;
  guarded: boolean;
  circumstances: Rules["circumstances"];
  env: Record<string, string>;
};
export type Order =
  | { do: "start"; id: number; command: CommandLine; options: CommandOptions }
  | { do: "stop"; id: number }
  | { do: "protect"; paths: readonly string[] };
export type Report =
  | { kind: "open"; policy: Policy; backend: OpenTier["backend"] }
  | { kind: "unavailable"; reason: string }
  | { kind: "refusal"; what: string }
  | { kind: "started"; id: number; pid: number }
  | { kind: "output"; id: number; stream: "stdout" | "stderr"; text: string }
  | { kind: "failed"; id: number; message: string }
  | { kind: "ended"; id: number; ended: Ended };

/** The tier cannot be had here, by its own words. */
export class NoSuchTier extends Error {
  override readonly name = "NoSuchTier";
}

/** Opens one tier, whichever is the strongest here; throws NoSuchTier when it cannot be had. The place becomes the user's. */
export async function openTier(tier: TierName, place: Place, rules: Rules = {}): Promise<OpenTier> {
  const { user = isRoot ? "root" : "nobody", grants = {}, guarded = false, circumstances = {}, env = {} } = rules;
  if (isRoot && user === "nobody") giveAway(dirname(place.project), nobody);
  if (user === "guest") giveAway(place.project, host);
  const wanted: Wanted = { tier, grants: { ...grantsIn(place), ...grants }, guarded, circumstances, env };
  const program = fileURLToPath(new URL("./tier-program.ts", import.meta.url));
  const child = Bun.spawn([...(user === "nobody" ? asNobody : []), process.execPath, program, JSON.stringify(wanted)], {
    cwd: "/",
    env: place.env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const reports = reportsOf(child.stdout);
  const first = await reports.next();
  if (first.done === true) throw new Error(`The process that should open the tier "${tier}" ended without a word`);
  if (first.value.kind === "unavailable") throw new NoSuchTier(first.value.reason);
  if (first.value.kind !== "open") throw new Error(`The tier "${tier}" began with "${first.value.kind}"`);

  const { policy, backend } = first.value;
  const refusals: string[] = [];
  const commands = new Map<number, Listener>();
  const over = listen(reports, { refusals, commands });
  const order = (line: Order) => {
    child.stdin.write(`${JSON.stringify(line)}\n`);
    void child.stdin.flush();
  };
  let count = 0;
  const start: OpenTier["start"] = (command, options = {}) => {
    const id = ++count;
    const { background, listener } = backgroundOf(id, () => order({ do: "stop", id }));
    commands.set(id, listener);
    order({ do: "start", id, command, options });
    return background;
  };
  return {
    pid: child.pid,
    policy,
    backend,
    refusals,
    start,
    run: async (command, options) => start(command, options).ended,
    protect: (paths) => order({ do: "protect", paths }),
    async [Symbol.asyncDispose]() {
      await child.stdin.end();
      await Promise.all([child.exited, over]);
    },
  };
}

/** Why a tier cannot be had here, for tests that are skipped then; undefined when it can. */
export async function whyMissing(tier: TierName, place: Place, rules: Rules = {}): Promise<string | undefined> {
  const { user = "", ...more } = rules;
  const ask = async () => await whyRefused(tier, place, rules);
  return Object.keys(more).length === 0 ? await kept(`tier-${tier}-${user}`, ask) : await ask();
}

async function whyRefused(tier: TierName, place: Place, rules: Rules): Promise<string | undefined> {
  try {
    await using _ = await openTier(tier, place, rules);
    return undefined;
  } catch (error) {
    if (error instanceof NoSuchTier) return error.message;
    throw error;
  }
}

/** As a run has them that was told nothing. */
function grantsIn({ home, project }: Place): Wanted["grants"] {
  return {
    mode: "auto",
    root: project,
    home,
    accountHome: undefined,
    write: [],
    read: [],
    hide: [],
    dataDirectory: join(home, ".local/share/koda"),
    configDirectory: join(home, ".config/koda"),
    gitPlaces: [],
    copies: [],
    allowGit: false,
    allowConfig: false,
    network: "allowlist",
  };
}

export function giveAway(directory: string, owner: number): void {
  chownSync(directory, owner, owner);
  for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" }))
    lchownSync(join(directory, name), owner, owner);
}

async function* reportsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Report> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = `${rest}${decoder.decode(bytes, { stream: true })}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}

type Listener = (report: Extract<Report, { id: number }> | undefined) => void;

/** Hands every report to the command that it is about; undefined tells all that the process is gone. */
async function listen(
  reports: AsyncGenerator<Report>,
  { refusals, commands }: { refusals: string[]; commands: ReadonlyMap<number, Listener> },
): Promise<void> {
  for await (const report of reports) {
    if (report.kind === "refusal") refusals.push(report.what);
    else if ("id" in report) commands.get(report.id)?.(report);
  }
  for (const listener of commands.values()) listener(undefined);
}

function backgroundOf(id: number, stop: () => void): { background: Background; listener: Listener } {
  const heard = { stdout: "", stderr: "" };
  const started = Promise.withResolvers<number>();
  const over = Promise.withResolvers<Ran>();
  const waiting = new Set<() => void>();
  // Who does not ask is not told that the process ended before.
  for (const { promise } of [started, over]) promise.catch(() => undefined);

  const listener: Listener = (report) => {
    switch (report?.kind) {
      case undefined:
        return fail("The process that held the tier is gone");
      case "failed":
        return fail(report.message);
      case "started":
        return started.resolve(report.pid);
      case "output":
        heard[report.stream] += report.text;
        return waiting.forEach((look) => look());
      case "ended": {
        const { exitCode, ...ended } = report.ended;
        return over.resolve({ exit: exitCode, ...heard, ...ended });
      }
      default:
        return report satisfies never;
    }
  };
  const fail = (message: string) => [started, over].forEach(({ reject }) => reject(new Error(message)));
  const background: Background = {
    id,
    pid: started.promise,
    heard,
    ended: over.promise,
    async prints(pattern) {
      const { promise, resolve } = Promise.withResolvers<RegExpExecArray>();
      const look = () => {
        const match = pattern.exec(heard.stdout);
        if (match !== null) resolve(match);
      };
      waiting.add(look);
      look();
      return await promise;
    },
    async stop() {
      stop();
      return await over.promise;
    },
  };
  return { background, listener };
}
