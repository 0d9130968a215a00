import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { KodaError, messageOf } from "../../errors.ts";
import { GitError } from "../../git/program.ts";
import { isForLackOfSpace, isForLock } from "../../session/database.ts";
import type { LoggedState, LogTransfer } from "../../session/transfer.ts";
import { type Chain, chainOf } from "./checkpoint.ts";
import { AttemptFailure } from "./failure.ts";
import { withGitTimeout } from "./gittimeout.ts";
import {
  checkoutLimit,
  releasedWorkTree,
  makeWorkTree,
  type WorkTreeOptions,
  removeWorkTree,
  takeWorkTree,
  type WorkTree,
} from "./worktree.ts";
import type { Checkpoint, TaskClaim } from "../store.ts";

/** How an attempt starts: its files, and what of an earlier one is there. */
export type AttemptSetup = {
  tree: WorkTree;
  /** `ask`: with the task's prompt. `resume`: in mid-turn. `confirm`: the turn was over, and its answer is lost. */
  how: "ask" | "resume" | "confirm";
  /** The items of the log that the store has. */
  stored: number;
};

type SetupOptions = WorkTreeOptions & {
  logs: LogTransfer;
  earlier: () => Promise<readonly Checkpoint[]>;
  note: (message: string) => void;
};

/** Continues an earlier attempt of this machine or of another one, or else begins the task. */
export async function setUpAttempt(claim: TaskClaim, options: SetupOptions): Promise<AttemptSetup> {
  if (!claim.resumes) return await startOver(claim, options);
  const chain = chainOf(await options.earlier());
  const here = await continueHere(claim, chain, options);
  if (here !== undefined) return here;
  if (chain === undefined) return await startOver(claim, options);
  try {
    return await continueFromStore(chain, claim, options);
  } catch (error) {
    if (!isUnusable(error)) throw error;
    options.note(`Cannot continue the earlier attempt, so the task starts over: ${messageOf(error)}`);
    return await startOver(claim, options);
  }
}

async function startOver(claim: TaskClaim, options: SetupOptions): Promise<AttemptSetup> {
  const session = freeSession(claim, options.logs);
  return { tree: await makeWorkTree(claim, { session }, options), how: "ask", stored: 0 };
}

/** A killed worker may have left more on this machine than the store has. */
async function continueHere(
  claim: TaskClaim,
  chain: Chain | undefined,
  options: SetupOptions,
): Promise<AttemptSetup | undefined> {
  const tree = releasedWorkTree(claim, options);
  if (tree === undefined) return undefined;
  const state = await freeState(tree.session, options);
  if (state === undefined || state.isHeld || state.length < (chain?.to ?? 0)) return undefined;
  takeWorkTree(tree, claim);
  // Its log may be another one than that in the store, which is given all of it.
  return { tree, how: howAfter[state.turn], stored: 0 };
}

/** The run of a killed worker ends soon after it. */
async function freeState(session: string, { logs, signal }: SetupOptions): Promise<LoggedState | undefined> {
  const deadline = performance.now() + endMs;
  while (true) {
    const state = logs.state(session);
    if (state?.isHeld !== true || performance.now() > deadline) return state;
    await sleep(lookMs, undefined, { signal });
  }
}

const endMs = 20_000;
const lookMs = 100;

const howAfter = { none: "ask", unfinished: "resume", complete: "confirm" } as const;

async function continueFromStore(chain: Chain, claim: TaskClaim, options: SetupOptions): Promise<AttemptSetup> {
  if (claim.task.repo === undefined && claim.task.dir !== undefined)
    throw new AttemptFailure("repository", "its files are on another machine, or have changed");
  const same = options.logs.state(chain.session);
  const isHere = same !== undefined && same.length === chain.to && !same.isHeld;
  const session = isHere ? chain.session : freeSession(claim, options.logs);
  const tree = await makeWorkTree(claim, { session, commit: chain.base }, options);
  try {
    const limit = checkoutLimit("Its changes cannot be applied", options);
    await withGitTimeout(limit, async (signal) => await tree.shadow?.apply(chain.patch, signal));
    // A transaction of the store's own connection to the same database would wait for this one, and this one for it.
    await setImmediate();
    if (!isHere) options.logs.write(session, chain.parts);
  } catch (error) {
    await removeWorkTree(tree);
    throw error;
  }
  return { tree, how: howAfter[options.logs.state(session)?.turn ?? "none"], stored: chain.to };
}

/** The checkpoint is of no use here. A full disk or a database that is locked is something else. */
function isUnusable(error: unknown): boolean {
  if (error instanceof GitError) return !error.isForLackOfSpace;
  if (error instanceof AttemptFailure) return error.code === "repository";
  return error instanceof KodaError && error.code === "store" && !isForLackOfSpace(error) && !isForLock(error);
}

/** `<batch>.<key>`, or for a later attempt a name of its own where that is taken. */
function freeSession({ batch, task, attempt }: TaskClaim, logs: LogTransfer): string {
  const base = `${batch}.${task.key}`;
  const later = Array.from({ length: 1000 }, (_, index) => `.${attempt + index}`);
  const names = later.map((end) => base.slice(0, longestName - end.length) + end);
  const name = [base.slice(0, longestName), ...names].find((each) => logs.state(each) === undefined);
  if (name === undefined) throw new KodaError("store", `There are too many sessions of task "${task.key}"`);
  return name;
}

const longestName = 64;
