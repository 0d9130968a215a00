import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import { z } from "zod";
import { errnoOf, reasonOf, unlessRefused } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import { isProcessGone, thisProcess } from "../../session/process.ts";
import { type Basis, makeBasis, openBasis } from "./basis.ts";
import { cloneInto } from "./clone.ts";
import { GitError } from "../../git/program.ts";
import { AttemptFailure, endOfFailure } from "./failure.ts";
import { limited } from "./limited.ts";
import { findRevision, mirrorName, openMirror } from "./mirror.ts";
import { removeDirectory } from "./remove.ts";
import { type UserGit, userGit, withoutPasswords } from "./usergit.ts";
import type { TaskClaim } from "../store.ts";
import type { FleetTask } from "../task.ts";

const recordSchema = z.object({
  /** The process that works there; it is free when there is none. */
  owner: z.object({ pid: z.number(), started: z.string(), host: z.string(), machine: z.string() }).nullable(),
  attempt: z.number(),
  session: z.string(),
  root: z.string(),
});

type PlaceRecord = z.infer<typeof recordSchema>;

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

type NewPlace = { session: string; commit?: string | undefined };

/** Makes the directory that a task is to change, in a state that no other attempt has touched. */
export async function makePlace(claim: TaskClaim, made: NewPlace, options: PlaceOptions): Promise<WorkPlace> {
  const { batch, task } = claim;
  const area = areaOf(options.directory, batch);
  const name = await freeName(area, claim);
  const isOwn = task.repo === undefined && task.dir !== undefined;
  const root = isOwn ? resolve(task.dir ?? "") : join(area, name);
  const state = join(area, stateName, name);
  await onMachine(state, async () => {
    await removeDirectory(state);
    mkdirSync(state, { recursive: true, mode: 0o700 });
    keepRecord(state, { attempt: claim.attempt, session: made.session, root });
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
  const mayWrite = async () => task.args.some((arg) => arg.startsWith("--allow-git")) || (await options.mayWriteGit);
  if (repo === undefined)
    return await makeBasis({ directory, git: user.git, root, mirror: undefined, commit: undefined }, signal);
  const place = { user, directory: join(area, stateName, mirrorsName, mirrorName(repo)), repo, signal };
  const mirror = await openMirror(place);
  const revision = await findRevision(place, mirror, commit ?? task.ref);
  const clone = { user, mirror, revision, repo, root, mayWrite: await mayWrite() };
  await limited(checkoutLimit(repo, options), (either) => cloneInto(clone, either)).catch((error: unknown) => {
    throw cloneFailure(repo, error);
  });
  return await makeBasis({ directory, git: user.git, root, mirror, commit: revision.commit }, signal);
}

const longestCheckoutMs = 30 * 60_000;

export function checkoutLimit(repo: string, { signal, gitLimitMs: ms = longestCheckoutMs }: PlaceOptions) {
  return { ms, signal, code: "repository", what: `Cannot check out "${withoutPasswords(repo)}"` } as const;
}

/** A tree may have names that git refuses, or that the file system does not take. */
function cloneFailure(repo: string, error: unknown): unknown {
  if (!(error instanceof GitError) || endOfFailure(error).kind === "fault") return error;
  const message = `Cannot check out "${withoutPasswords(repo)}": ${error.message.slice(0, 1000)}`;
  return new AttemptFailure("repository", message, error);
}

/** The directory in which the task is done; it may not lead out of the clone. */
export function workDirectory({ root, isOwn }: WorkPlace, { dir }: FleetTask): string {
  if (isOwn || dir === undefined) return root;
  const wrong = (why: string) => new AttemptFailure("usage", `Cannot work in "${dir}" of the repository: ${why}`);
  if (isAbsolute(dir) || /(?:^|\/)\.(?:\.|git)(?:\/|$)/i.test(dir)) throw wrong("expected a path below it");
  const real = unlessRefused(() => realpathSync(join(root, dir)));
  if (real === undefined || !statSync(real).isDirectory()) throw wrong("there is no such directory");
  if (!isBelow(real, root)) throw wrong("a symbolic link leads out of it");
  // There a command could write, as in every work directory, to what clones share.
  if (relative(root, real).split("/").includes(".git")) throw wrong("a symbolic link leads into .git");
  return real;
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
    const state = join(area, stateName, name);
    const record = recordIn(state);
    return record === undefined || isTaken(record) || !existsSync(record.root) ? [] : [{ state, record }];
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
  keepRecord(state, { attempt, session, root });
}

/** Leaves the place to a later attempt. */
export function leavePlace({ state, root, session }: WorkPlace, { attempt }: TaskClaim): void {
  writeFileSync(join(state, recordName), JSON.stringify({ owner: null, attempt, session, root }));
}

/** Removes the clone and all that koda has kept beside it; a directory of the machine's own stays. */
export async function removePlace({ root, isOwn, state }: Pick<WorkPlace, "root" | "isOwn" | "state">): Promise<void> {
  try {
    if (!isOwn) await removeDirectory(root);
    await removeDirectory(state);
  } catch (error) {
    // No reason to stop a worker, or not to start one: it is swept later.
    if (errnoOf(error) === undefined) throw error;
  }
}

const stateName = ".koda";
/** Beside the states of tasks, none of which has such a key. */
const mirrorsName = "%mirrors";
const basisName = "basis";
const recordName = "record.json";

function keepRecord(state: string, record: Omit<PlaceRecord, "owner">): void {
  writeFileSync(join(state, recordName), JSON.stringify({ owner: thisProcess(), ...record }));
}

function recordIn(state: string): PlaceRecord | undefined {
  const text = unlessRefused(() => readFileSync(join(state, recordName), "utf8"));
  if (text === undefined) return undefined;
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch {
    // Cut off with its process: what is there is as good as nothing.
    return undefined;
  }
}

function isTaken({ owner }: PlaceRecord): boolean {
  return owner !== null && !isProcessGone(owner);
}

/** The task's own name, or one for this attempt where a process that lives has the first. */
async function freeName(area: string, claim: TaskClaim): Promise<string> {
  for (const name of namesOf(claim)) {
    const state = join(area, stateName, name);
    const record = recordIn(state);
    if (record === undefined || !isTaken(record)) return name;
  }
  return `${namesOf(claim)[0]}%${claim.ticket.round}%${Date.now()}`;
}

/** `%` is in no key. A key may be `.` or `..`. */
function namesOf({ task, attempt }: TaskClaim): string[] {
  const name = pathName(task.key);
  return [name, ...Array.from({ length: attempt - 1 }, (_, index) => `${name}%${index + 2}`)];
}

function pathName(key: string): string {
  return key.replace(/^\./, "%2E");
}

function areaOf(directory: string, batch: string): string {
  return join(directory, pathName(batch));
}

/**
 * Removes what killed workers of this machine have left, of batches in which nothing is to be done any more. A place of
 * the others may be what the next attempt goes on with.
 */
export async function sweepPlaces(directory: string, isOpen: (batch: string) => Promise<boolean>): Promise<void> {
  for (const batch of listed(directory)) {
    const area = join(directory, batch);
    const states = listed(join(area, stateName)).filter((name) => name !== mirrorsName);
    if (states.length === 0 && listed(area).some((name) => name !== stateName)) continue;
    if (await isOpen(batch.replace(/^%2E/, "."))) continue;
    let isUsed = false;
    for (const name of states) {
      const state = join(area, stateName, name);
      const record = recordIn(state);
      if (record !== undefined && isTaken(record)) isUsed = true;
      else await removePlace({ root: join(area, name), isOwn: false, state });
    }
    if (!isUsed && listed(area).every((name) => name === stateName)) await removeDirectory(area);
  }
}

function listed(directory: string): string[] {
  return unlessRefused(() => readdirSync(directory)) ?? [];
}
