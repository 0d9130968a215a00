import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { KodaError, messageOf } from "../../errors.ts";
import { GitError } from "../../git/program.ts";
import { isForLackOfSpace, isForLock } from "../../session/database.ts";
import type { LoggedState, LogTransfer } from "../../session/transfer.ts";
import { type Chain, chainOf } from "./checkpoint.ts";
import { AttemptFailure } from "./failure.ts";
import { limited } from "./limited.ts";
import {
  checkoutLimit,
  leftPlace,
  makePlace,
  type PlaceOptions,
  removePlace,
  takePlace,
  type WorkPlace,
} from "./place.ts";
import type { Checkpoint, TaskClaim } from "../store.ts";

/** The state in which an attempt begins. */
export type Beginning = {
  place: WorkPlace;
  /** `ask`: with the task's prompt. `resume`: in mid-turn. `confirm`: the turn was over, and its answer is lost. */
  how: "ask" | "resume" | "confirm";
  /** The items of the log that the store has. */
  stored: number;
};

type BeginningOptions = PlaceOptions & {
  logs: LogTransfer;
  earlier: () => Promise<readonly Checkpoint[]>;
  note: (message: string) => void;
};

/** Goes on where an earlier attempt was, here or on another machine, or else begins the task. */
export async function beginAttempt(claim: TaskClaim, options: BeginningOptions): Promise<Beginning> {
  if (!claim.resumes) return await beginAnew(claim, options);
  const chain = chainOf(await options.earlier());
  const here = await goOnHere(claim, chain, options);
  if (here !== undefined) return here;
  if (chain === undefined) return await beginAnew(claim, options);
  try {
    return await goOnWith(chain, claim, options);
  } catch (error) {
    if (!isMisfit(error)) throw error;
    options.note(`Cannot continue the earlier attempt, so the task begins again: ${messageOf(error)}`);
    return await beginAnew(claim, options);
  }
}

async function beginAnew(claim: TaskClaim, options: BeginningOptions): Promise<Beginning> {
  const session = freeSession(claim, options.logs);
  return { place: await makePlace(claim, { session }, options), how: "ask", stored: 0 };
}

/** A killed worker may have left more on this machine than the store has. */
async function goOnHere(
  claim: TaskClaim,
  chain: Chain | undefined,
  options: BeginningOptions,
): Promise<Beginning | undefined> {
  const place = leftPlace(claim, options);
  if (place === undefined) return undefined;
  const state = await freeState(place.session, options);
  if (state === undefined || state.isHeld || state.length < (chain?.to ?? 0)) return undefined;
  takePlace(place, claim);
  // Its log may be another one than that in the store, which is given all of it.
  return { place, how: wayOn[state.turn], stored: 0 };
}

/** The run of a killed worker ends soon after it. */
async function freeState(session: string, { logs, signal }: BeginningOptions): Promise<LoggedState | undefined> {
  const deadline = performance.now() + endMs;
  while (true) {
    const state = logs.state(session);
    if (state?.isHeld !== true || performance.now() > deadline) return state;
    await sleep(lookMs, undefined, { signal });
  }
}

const endMs = 20_000;
const lookMs = 100;

const wayOn = { none: "ask", unfinished: "resume", complete: "confirm" } as const;

async function goOnWith(chain: Chain, claim: TaskClaim, options: BeginningOptions): Promise<Beginning> {
  if (claim.task.repo === undefined && claim.task.dir !== undefined)
    throw new AttemptFailure("repository", "its files are on another machine, or have changed");
  const same = options.logs.state(chain.session);
  const isHere = same !== undefined && same.length === chain.to && !same.isHeld;
  const session = isHere ? chain.session : freeSession(claim, options.logs);
  const place = await makePlace(claim, { session, commit: chain.base }, options);
  try {
    const limit = checkoutLimit("Its changes cannot be applied", options);
    await limited(limit, async (signal) => await place.basis?.apply(chain.patch, signal));
    // A transaction of the store's own connection to the same database would wait for this one, and this one for it.
    await setImmediate();
    if (!isHere) options.logs.write(session, chain.parts);
  } catch (error) {
    await removePlace(place);
    throw error;
  }
  return { place, how: wayOn[options.logs.state(session)?.turn ?? "none"], stored: chain.to };
}

/** The checkpoint is of no use here. A full disk or a database that is locked is something else. */
function isMisfit(error: unknown): boolean {
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
