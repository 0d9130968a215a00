import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promptTitle } from "../../session/log.ts";
import type { ShadowRepository } from "./shadowrepository.ts";
import { AttemptFailure } from "./failure.ts";
import { fetchFlags, startName } from "./mirror.ts";
import { runProgram } from "./program.ts";
import { remoteFailure, runRemote, tryRemote, type UserGit, withoutRepository } from "./usergit.ts";
import type { TaskClaim } from "../store.ts";

/**
 * The branch to publish, as it was when the attempt began: a push replaces nothing else. One that the task begins with
 * is to be as it was then, or what others have pushed would be lost.
 */
export type PublishTarget = { repo: string; branch: string; before: string };

type Publishing = { claim: TaskClaim; user: UserGit; shadow: ShadowRepository; root: string; signal: AbortSignal };

export async function readTarget(publishing: Omit<Publishing, "root">): Promise<PublishTarget | undefined> {
  const { claim, user, shadow, signal } = publishing;
  const { repo, ref, publish } = claim.task;
  if (publish === undefined || repo === undefined) return undefined;
  const { branch } = publish;
  const run = { directory: shadow.directory, signal };
  const { status } = await tryRemote(user, run, ["check-ref-format", "--branch", branch]);
  if (status !== 0) throw new AttemptFailure("usage", `Cannot publish "${branch}": it is not the name of a branch`);
  const full = `refs/heads/${branch}`;
  const listed = await runRemote(user, run, ["ls-remote", "--symref", "--", repo, "HEAD", full]);
  const columns = listed.split("\n").map((line) => line.split("\t"));
  const before = columns.find(([, name]) => name === full)?.[0] ?? "";
  const head = columns.find(([value = "", name]) => name === "HEAD" && value.startsWith("ref: "))?.[0]?.slice(5);
  const target = { repo, branch, before };
  const isStart = startName({ defaultBranch: head }, ref) === branch;
  if (!isStart || ["", shadow.base].includes(before) || (await isOwnPush(publishing, target))) return target;
  throw new AttemptFailure("publish", `Cannot publish "${branch}": it has changed since the task started from it`);
}

/** An earlier attempt has pushed, and its worker could not say so any more. */
async function isOwnPush({ claim, user, shadow, signal }: Omit<Publishing, "root">, target: PublishTarget) {
  const { repo, branch, before } = target;
  const run = { directory: shadow.directory, signal };
  await runRemote(user, run, ["fetch", ...fetchFlags, "--", repo, `refs/heads/${branch}`]);
  const { stdout } = await tryRemote(user, run, ["log", "-1", "--format=%P%n%B", before]);
  return stdout.trim() === `${shadow.base}\n${messageOf(claim)}`.trim();
}

function messageOf({ batch, task }: TaskClaim): string {
  return `${promptTitle(task.prompt) || task.key}\n\nBatch: ${batch}\nTask: ${task.key}\n`;
}

/** Commits everything that the attempt has changed, and pushes it. No hook runs, and nothing of the work tree does. */
export async function pushBranch(publishing: Publishing, { repo, branch, before }: PublishTarget) {
  const { claim, user, shadow, signal } = publishing;
  const run = { directory: shadow.directory, signal };
  const commit = await shadow.commit(messageOf(claim), await identity(user, run), signal);
  const full = `refs/heads/${branch}`;
  const lease = `--force-with-lease=${full}:${before}`;
  const flags = ["--quiet", "--no-verify", "--no-signed", "--recurse-submodules=no", lease];
  const args = ["push", ...flags, "--", repo, `${commit}:${full}`];
  for (const pauseMs of [...pausesMs, Infinity]) {
    const end = await tryRemote(user, run, args);
    if (end.status === 0) break;
    const { code, message: why } = remoteFailure("push", run, end);
    if (code !== "unreachable" || pauseMs === Infinity)
      throw new AttemptFailure(code === "disk" ? code : "publish", `Could not publish "${branch}": ${why}`);
    await sleep(pauseMs, undefined, { signal });
  }
  return { branch, commit };
}

/** The work is done and paid for, and an outage may be short. */
const pausesMs = [1_000, 5_000, 20_000];

async function identity(user: UserGit, run: { directory: string; signal: AbortSignal }) {
  const valueOf = async (key: string) => (await tryRemote(user, run, ["config", "--get", key])).stdout.trim();
  const [name, email] = [await valueOf("user.name"), await valueOf("user.email")];
  return {
    name: user.env.GIT_AUTHOR_NAME || name || "koda",
    email: user.env.GIT_AUTHOR_EMAIL || email || "koda@localhost",
  };
}

const commandLimitMs = 30 * 60_000;

/** Runs the command of the worker's own user, such as one that opens a pull request. It is never the store's. */
export async function runPublishCommand(
  command: string,
  { claim, user, shadow, root, signal }: Publishing,
  { branch, commit }: { branch: string; commit: string },
): Promise<void> {
  const { batch, task } = claim;
  const names = { BRANCH: branch, COMMIT: commit, BATCH: batch, KEY: task.key, REPO: task.repo ?? "", TREE: root };
  const own = Object.fromEntries(Object.entries(names).map(([name, value]) => [`KODA_${name}`, value]));
  const env = { ...withoutRepository(user.env), ...own };
  // Not in the work tree: what looks for its configuration there would obey the model.
  const cwd = dirname(shadow.directory);
  const end = await runProgram(["/bin/sh", "-c", command], { cwd, env, limitMs: commandLimitMs, signal });
  if (end.status === 0) return;
  const said = end.stderr.trim() || end.stdout.trim();
  throw new AttemptFailure("publish", `The publish command failed with exit code ${end.status}: ${said.slice(-1000)}`);
}
