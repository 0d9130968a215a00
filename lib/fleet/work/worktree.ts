import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { errnoOf, reasonOf, unlessRefused } from "../../errors.ts";
import { directoryOfBatch, mirrorOf, namesOf, stateDirectory } from "./batchdirectory.ts";
import { type ShadowRepository, makeShadowRepository, openShadowRepository } from "./shadowrepository.ts";
import { cloneInto } from "./clone.ts";
import { GitError } from "../../git/program.ts";
import { AttemptFailure, endOfFailure } from "./failure.ts";
import { withGitTimeout } from "./gittimeout.ts";
import { fetchBranch, findRevision, type Mirror, type MirrorSource, openMirror, startName } from "./mirror.ts";
import { releaseRecord, releasedRecordIn, isTreeTaken, takeRecord } from "./treerecord.ts";
import { tryRemove } from "./remove.ts";
import { type UserGit, userGit, withoutPasswords } from "./usergit.ts";
import type { TaskClaim } from "../store.ts";
import type { FleetTask } from "../task.ts";

/** The directory where an attempt works: its files, and what koda keeps beside them. */
export type WorkTree = {
  /** A clone, a directory that was empty at first, or one of the user's own. */
  root: string;
  /** It is the user's own, which the task changes in place. */
  isInPlace: boolean;
  /** koda's own files about it, where commands cannot write. */
  state: string;
  /** Absent for the user's own, which koda does not copy. */
  shadow: ShadowRepository | undefined;
  session: string;
};

export type WorkTreeOptions = {
  /** The directory of all batches. */
  directory: string;
  env: UserGit["env"];
  signal: AbortSignal;
  /** Commands of every task may change what is in `.git`. */
  mayWriteGit: boolean | Promise<boolean>;
  /** The longest that git may work at the tree. */
  gitLimitMs?: number | undefined;
};

const shadowName = "shadow";

type NewWorkTree = { session: string; commit?: string | undefined };

/** Makes the directory that a task is to change, in a state that no other attempt has touched. */
export async function makeWorkTree(claim: TaskClaim, made: NewWorkTree, options: WorkTreeOptions): Promise<WorkTree> {
  const { batch, task } = claim;
  const batchDirectory = directoryOfBatch(options.directory, batch);
  const isInPlace = task.repo === undefined && task.dir !== undefined;
  const name = await freeName(batchDirectory, claim, isInPlace);
  const root = isInPlace ? resolve(task.dir ?? "") : join(batchDirectory, name);
  const state = stateDirectory(batchDirectory, name);
  onMachine(state, () => {
    mkdirSync(state, { recursive: true, mode: 0o700 });
    takeRecord(state, { attempt: claim.attempt, session: made.session, root });
    if (!isInPlace) mkdirSync(root, { mode: 0o700 });
  });
  try {
    if (isInPlace) return { root: existing(root), isInPlace, state, shadow: undefined, session: made.session };
    const shadow = await fill({ task, batchDirectory, root: realpathSync(root), state, commit: made.commit }, options);
    return { root: realpathSync(root), isInPlace, state, shadow, session: made.session };
  } catch (error) {
    await removeWorkTree({ root, isInPlace, state });
    throw error;
  }
}

/**
 * The task's own name or another one, where no living process works, and nothing of an earlier attempt is left: some
 * files may be another user's, as those of a container.
 */
async function freeName(batchDirectory: string, claim: TaskClaim, isInPlace: boolean): Promise<string> {
  for (const name of namesOf(claim)) {
    const [root, state] = [join(batchDirectory, name), stateDirectory(batchDirectory, name)];
    // The user has kept it.
    const isKept = existsSync(root) && !existsSync(state);
    if (isKept || isTreeTaken(state)) continue;
    if ((await removeWorkTree({ root, isInPlace, state })) === undefined) return name;
  }
  return `${namesOf(claim)[0]}%${claim.ticket.round}%${Date.now()}`;
}

/** Failures where no task can write are the machine's fault. */
function onMachine(directory: string, make: () => void): void {
  try {
    make();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    throw new AttemptFailure("disk", `Cannot write to "${directory}": ${reasonOf(error)}`, error);
  }
}

type Filling = { task: FleetTask; batchDirectory: string; root: string; state: string; commit: string | undefined };

async function fill(
  { task, batchDirectory, root, state, commit }: Filling,
  options: WorkTreeOptions,
): Promise<ShadowRepository> {
  const { env, signal } = options;
  const user = userGit(env);
  const directory = join(state, shadowName);
  const { repo } = task;
  if (repo === undefined)
    return makeShadowRepository({ directory, git: user.git, root, mirror: undefined, commit: undefined });
  const source = { user, directory: mirrorOf(batchDirectory, repo), repo, signal };
  const mirror = await openMirror(source);
  const now = await latest(task, { source, mirror });
  const isRight = commit === undefined || commit === now?.commit;
  const revision = isRight && now !== undefined ? now : await findRevision(source, mirror, commit ?? task.ref);
  // A project that is trusted may allow the same.
  const mayWrite = task.args.some((arg) => /^--(?:allow-git|trust-project)/.test(arg)) || (await options.mayWriteGit);
  const clone = { user, mirror, revision, repo, root, mayWrite };
  const what = `Cannot check out "${withoutPasswords(repo)}"`;
  await withGitTimeout(checkoutLimit(what, options), (either) => cloneInto(clone, either)).catch((error: unknown) => {
    throw cloneFailure(what, error);
  });
  return makeShadowRepository({ directory, git: user.git, root, mirror, commit: revision.commit });
}

/** The branch as it is now, for a task that must see what others pushed: it waits for them, or publishes it too. */
async function latest(
  { ref, after, publish }: FleetTask,
  { source, mirror }: { source: MirrorSource; mirror: Mirror },
) {
  const name = startName(mirror, ref);
  return after.length > 0 || publish?.branch === name ? await fetchBranch(source, mirror, name) : undefined;
}

const longestCheckoutMs = 30 * 60_000;

export function checkoutLimit(what: string, { signal, gitLimitMs: ms = longestCheckoutMs }: WorkTreeOptions) {
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
  throw new AttemptFailure("usage", `Cannot work in "${directory}": no such directory on this machine`);
}

/** The latest work tree that earlier attempts have left on this machine and that no process works in. */
export function releasedWorkTree(claim: TaskClaim, { directory, env }: WorkTreeOptions): WorkTree | undefined {
  const batchDirectory = directoryOfBatch(directory, claim.batch);
  const found = namesOf(claim).flatMap((name) => {
    const state = stateDirectory(batchDirectory, name);
    const record = releasedRecordIn(state);
    return record === undefined || !existsSync(record.root) ? [] : [{ state, record }];
  });
  const latest = found.toSorted((a, b) => b.record.attempt - a.record.attempt)[0];
  if (latest === undefined) return undefined;
  const { state, record } = latest;
  const isInPlace = claim.task.repo === undefined && claim.task.dir !== undefined;
  const hasShadow = existsSync(join(state, shadowName, "koda-base"));
  if (!isInPlace && !hasShadow) return undefined;
  const root = realpathSync(record.root);
  const shadow = isInPlace
    ? undefined
    : openShadowRepository({ directory: join(state, shadowName), git: userGit(env).git, root });
  return { root, isInPlace, state, shadow, session: record.session };
}

/** Takes a work tree that was left. */
export function takeWorkTree({ state, root, session }: WorkTree, { attempt }: TaskClaim): void {
  takeRecord(state, { attempt, session, root });
}

/** Leaves the work tree to a later attempt. */
export function releaseWorkTree({ state, root, session }: WorkTree, { attempt }: TaskClaim): void {
  releaseRecord(state, { attempt, session, root });
}

/**
 * Removes the clone and all that koda has kept beside it; a directory of the machine's own stays. Returns why it could
 * not, as for files of another user; the next sweep tries again.
 */
export async function removeWorkTree({ root, isInPlace, state }: Pick<WorkTree, "root" | "isInPlace" | "state">) {
  // The shadow repository first: without it no later attempt goes on in what is left of a tree.
  for (const path of [join(state, shadowName), ...(isInPlace ? [] : [root]), state]) {
    const problem = await tryRemove(path);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
