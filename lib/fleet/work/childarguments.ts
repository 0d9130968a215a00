import { realpathSync } from "node:fs";
import { unlessRefused } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import type { ChildEnd } from "./child.ts";
import type { AttemptSetup } from "./setup.ts";
import { AttemptFailure } from "./failure.ts";
import type { WorkTree } from "./worktree.ts";
import type { Spending } from "../store.ts";
import type { FleetTask } from "../task.ts";

type ChildCommand = {
  task: FleetTask;
  session: string;
  directory: string;
  how: AttemptSetup["how"];
  limits: Limits;
  schema: string | undefined;
  /** A file for the changes of the run. */
  patch: string | undefined;
  tree: Pick<WorkTree, "root" | "isInPlace">;
  /** The directory of all batches. */
  batches: string;
};

/** The arguments of `koda exec --json`. */
export function argumentsFor(line: ChildCommand): string[] {
  const { task, session, directory, how, limits, schema, patch } = line;
  const { costUsd, tokens } = limits;
  return [
    ...task.args,
    ...hidingOthers(line),
    "--cd",
    directory,
    ...(schema === undefined ? [] : ["--output-schema", schema]),
    ...(patch === undefined ? [] : ["--patch", patch]),
    ...(costUsd === undefined ? [] : ["--max-cost", costUsd.most.toFixed(6)]),
    ...(tokens === undefined ? [] : ["--max-tokens", String(tokens.most)]),
    ...(how === "ask" ? ["--session", session, "-"] : ["--resume", session, ...(how === "confirm" ? ["-"] : [])]),
  ];
}

/** Commands see no tree of another task, no repository that these come from, and no note of koda's on them. */
function hidingOthers({ tree: { root, isInPlace }, batches }: ChildCommand): string[] {
  const hidden = unlessRefused(() => realpathSync(batches));
  if (hidden === undefined) return [];
  // Not all of the machine's own directory may be open, and Landlock hides nothing in one that may be written.
  if (isInPlace && (isBelow(root, hidden) || isBelow(hidden, root))) return [];
  const words = [`--deny-read=${hidden}`, ...(isInPlace ? [] : [`--allow-read=${root}`])];
  // A comma would begin another path.
  return words.map((word) => word.replaceAll(",", ",,"));
}

/**
 * Each is one word, `--name` or `--name=value`, so there is no doubt which flags these are. The submitter has checked
 * them, but the store is not trusted to have kept them.
 */
export function assertTaskFlags(args: readonly string[], isTaskFlag: (name: string) => boolean): void {
  for (const arg of args) {
    const [, name = ""] = /^--([a-z-]+)(?:=|$)/.exec(arg) ?? [];
    if (!isTaskFlag(name))
      throw new AttemptFailure("usage", `Cannot start the task: tasks may not have the flag "${arg.slice(0, 100)}"`);
  }
}

const keyFlag = "--api-key-env=";

/** The variables in which a task has keys. */
export function variablesWithKeys(args: readonly string[]): string[] {
  return args.flatMap((arg) => (arg.startsWith(keyFlag) ? arg.slice(keyFlag.length) : []));
}

/** The text for its stdin. */
export function promptFor(how: AttemptSetup["how"], { prompt }: FleetTask): string {
  switch (how) {
    case "ask":
      return prompt;
    case "resume":
      return "";
    case "confirm":
      return "Your last answer was lost. Check that the task is complete, do what is missing, and give the final answer again.";
    default:
      return how satisfies never;
  }
}

/** `isShared`: the batch set the limit, and may raise it. */
type Limit = { most: number; isShared: boolean };
type Limits = { costUsd?: Limit; tokens?: Limit };

type Bounds = {
  /** Allowed by the batch beyond what was spent. */
  grant: Partial<Spending>;
  spent: Spending;
};

/** The limits of the next run: those of the task's own attempt, and of its share of the batch's budget. */
export function limitsFor({ maxCost, maxTokens }: FleetTask, { grant, spent }: Bounds): Limits {
  const costUsd = lower(maxCost, spent.costUsd, grant.costUsd);
  const tokens = lower(maxTokens, spent.tokens, grant.tokens);
  return {
    ...(costUsd && { costUsd: { ...costUsd, most: Math.max(costUsd.most, leastUsd) } }),
    ...(tokens && { tokens: { ...tokens, most: Math.max(Math.floor(tokens.most), 1) } }),
  };
}

const leastUsd = 1e-6;

function lower(own: number | undefined, spent: number, granted: number | undefined): Limit | undefined {
  if (own === undefined) return granted === undefined ? undefined : { most: granted, isShared: true };
  const left = own - spent;
  return granted !== undefined && granted < left ? { most: granted, isShared: true } : { most: left, isShared: false };
}

/** The run has stopped at a limit that the batch may raise. */
export function wantsMore({ end }: ChildEnd, { costUsd, tokens }: Limits): boolean {
  if (end?.error?.code === "max_cost") return costUsd?.isShared === true;
  return end?.error?.code === "max_tokens" && tokens?.isShared === true;
}
