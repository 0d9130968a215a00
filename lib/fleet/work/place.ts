import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { errnoOf, reasonOf, unlessRefused } from "../../errors.ts";
import { areaOf, mirrorOf, namesOf, stateDirectory } from "./area.ts";
import { type Basis, makeBasis, openBasis } from "./basis.ts";
import { cloneInto } from "./clone.ts";
import { GitError } from "../../git/program.ts";
import { AttemptFailure, endOfFailure } from "./failure.ts";
import { limited } from "./limited.ts";
import { findRevision, openMirror } from "./mirror.ts";
import { freeRecord, freeRecordIn, isPlaceTaken, takeRecord } from "./placerecord.ts";
import { removeDirectory, tryRemove } from "./remove.ts";
import { type UserGit, userGit, withoutPasswords } from "./usergit.ts";
import type { TaskClaim } from "../store.ts";
import type { FleetTask } from "../task.ts";

/** The place where an attempt works: its files, and what koda keeps beside them. */
export type WorkPlace = {
  /** The clone, an empty directory at first, or a directory of the machine's own. */
  root: string;
  isOwn: boolean;
  /** koda's own files about it, where commands cannot write. */
  state: string;
  /** Absent for a directory of the machine's own, which koda does not copy. */
  basis: Basis | undefined;
  session: string;
};

export type PlaceOptions = {
  /** The directory of all batches. */
  directory: string;
  env: UserGit["env"];
  signal: AbortSignal;
  /** Commands of every task may change what is in `.git`. */
  mayWriteGit: boolean | Promise<boolean>;
  /** The longest that git may work at the tree. */
  gitLimitMs?: number | undefined;
};

const basisName = "basis";

type NewPlace = { session: string; commit?: string | undefined };

/** Makes the directory that a task is to change, in a state that no other attempt has touched. */
export async function makePlace(claim: TaskClaim, made: NewPlace, options: PlaceOptions): Promise<WorkPlace> {
  const { batch, task } = claim;
  const area = areaOf(options.directory, batch);
  const name = freeName(area, claim);
  const isOwn = task.repo === undefined && task.dir !== undefined;
  const root = isOwn ? resolve(task.dir ?? "") : join(area, name);
  const state = stateDirectory(area, name);
  await onMachine(state, async () => {
    await removeDirectory(state);
    mkdirSync(state, { recursive: true, mode: 0o700 });
    takeRecord(state, { attempt: claim.attempt, session: made.session, root });
  });
  try {
    if (isOwn) return { root: existing(root), isOwn, state, basis: undefined, session: made.session };
    await removeDirectory(root);
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const basis = await fill({ task, area, root: realpathSync(root), state, commit: made.commit }, options);
    return { root: realpathSync(root), isOwn, state, basis, session: made.session };
  } catch (error) {
    await removePlace({ root, isOwn, state });
    throw error;
  }
}

/** Failures where no task can write are the machine's fault. */
async function onMachine(directory: string, make: () => Promise<void>): Promise<void> {
  try {
    await make();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    throw new AttemptFailure("disk", `Cannot write to "${directory}": ${reasonOf(error)}`, error);
  }
}

type Filling = { task: FleetTask; area: string; root: string; state: string; commit: string | undefined };

async function fill({ task, area, root, state, commit }: Filling, options: PlaceOptions): Promise<Basis> {
  const { env, signal } = options;
  const user = userGit(env);
  const directory = join(state, basisName);
  const { repo } = task;
  if (repo === undefined)
    return await makeBasis({ directory, git: user.git, root, mirror: undefined, commit: undefined }, signal);
  const place = { user, directory: mirrorOf(area, repo), repo, signal };
  const mirror = await openMirror(place);
  const revision = await findRevision(place, mirror, commit ?? task.ref);
  // A project that is trusted may allow the same.
  const mayWrite = task.args.some((arg) => /^--(?:allow-git|trust-project)/.test(arg)) || (await options.mayWriteGit);
  const clone = { user, mirror, revision, repo, root, mayWrite };
  const what = `Cannot check out "${withoutPasswords(repo)}"`;
  await limited(checkoutLimit(what, options), (either) => cloneInto(clone, either)).catch((error: unknown) => {
    throw cloneFailure(what, error);
  });
  return await makeBasis({ directory, git: user.git, root, mirror, commit: revision.commit }, signal);
}

const longestCheckoutMs = 30 * 60_000;

export function checkoutLimit(what: string, { signal, gitLimitMs: ms = longestCheckoutMs }: PlaceOptions) {
  return { ms, signal, code: "repository", what } as const;
}

/** A tree may have names that git refuses, or that the file system does not take. */
function cloneFailure(what: string, error: unknown): unknown {
  if (!(error instanceof GitError) || endOfFailure(error).kind === "fault") return error;
  return new AttemptFailure("repository", `${what}: ${error.message.slice(0, 1000)}`, error);
}

function existing(directory: string): string {
  const real = unlessRefused(() => realpathSync(directory));
  if (real !== undefined && statSync(real).isDirectory()) return real;
  throw new AttemptFailure("usage", `Cannot work in "${directory}": there is no such directory on this machine`);
}

/** The place that an earlier attempt on this machine has left, the latest one; nothing may work there any more. */
export function leftPlace(claim: TaskClaim, { directory, env }: PlaceOptions): WorkPlace | undefined {
  const area = areaOf(directory, claim.batch);
  const found = namesOf(claim).flatMap((name) => {
    const state = stateDirectory(area, name);
    const record = freeRecordIn(state);
    return record === undefined || !existsSync(record.root) ? [] : [{ state, record }];
  });
  const latest = found.toSorted((a, b) => b.record.attempt - a.record.attempt)[0];
  if (latest === undefined) return undefined;
  const { state, record } = latest;
  const isOwn = claim.task.repo === undefined && claim.task.dir !== undefined;
  const hasBasis = existsSync(join(state, basisName, "koda-base"));
  if (!isOwn && !hasBasis) return undefined;
  const root = realpathSync(record.root);
  const basis = isOwn ? undefined : openBasis({ directory: join(state, basisName), git: userGit(env).git, root });
  return { root, isOwn, state, basis, session: record.session };
}

/** Takes a place that was left. */
export function takePlace({ state, root, session }: WorkPlace, { attempt }: TaskClaim): void {
  takeRecord(state, { attempt, session, root });
}

/** Leaves the place to a later attempt. */
export function leavePlace({ state, root, session }: WorkPlace, { attempt }: TaskClaim): void {
  freeRecord(state, { attempt, session, root });
}

/**
 * Removes the clone and all that koda has kept beside it; a directory of the machine's own stays. Returns why it could
 * not, as for files of another user; the next sweep tries again.
 */
export async function removePlace({ root, isOwn, state }: Pick<WorkPlace, "root" | "isOwn" | "state">) {
  // The basis first: without it no later attempt goes on in what is left of a tree.
  for (const path of [join(state, basisName), ...(isOwn ? [] : [root]), state]) {
    const problem = await tryRemove(path);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The task's own name, or one for this attempt where a process that lives has the first. */
function freeName(area: string, claim: TaskClaim): string {
  const free = namesOf(claim).find((name) => !isPlaceTaken(stateDirectory(area, name)));
  return free ?? `${namesOf(claim)[0]}%${claim.ticket.round}%${Date.now()}`;
}
