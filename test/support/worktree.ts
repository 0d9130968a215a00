import { expect } from "bun:test";
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import { Contents } from "../../lib/worktree/contents.ts";
import { readManifest } from "../../lib/worktree/manifest.ts";
import type { WorkDiff } from "../../lib/worktree/patch.ts";
import { planRestoration, type RestorePlan } from "../../lib/worktree/plan.ts";
import { type Manifest, manifestPath, type SnapshotKey } from "../../lib/worktree/record.ts";
import { stageFiles } from "../../lib/worktree/restore.ts";
import { takeSnapshot, type Snapshot } from "../../lib/worktree/snapshot.ts";
import { makePlace, type Place } from "./place.ts";
import { policyOf } from "./policy.ts";

/** A project that is snapshotted and changed, with the plumbing that tests of it share. */
export type Ground = Place & {
  root: string;
  temporary: string;
  /** Runs git as the user of the project would, and returns what it printed. */
  git(...args: readonly string[]): string;
  /** Commits all that lies in a directory, which becomes a repository where it is none. */
  commit(directory?: string): void;
  remove(path: string): void;
  link(target: string, path: string): void;
  makeExecutable(path: string): void;
  snapshot(options?: Partial<Asked>): Promise<Snapshot>;
  /** The place of the stored snapshot of a turn. */
  key(seq?: number): SnapshotKey;
  /** The changes that `change` makes after a snapshot; all of them are then restored. */
  changedBy(change: () => unknown, options?: Partial<Asked>): Promise<WorkDiff>;
};

type Asked = { searchPath: string; rules: Partial<Policy>; signal: AbortSignal; keep: boolean };

export const live = new AbortController().signal;

export function makeGround(files: Record<string, string> = {}): Ground {
  const place = makePlace(files);
  const root = place.project;
  const temporary = join(dirname(root), "tmp");
  const at = (path: string) => join(root, path);
  const git = (...args: string[]) => runGit(root, place.env, args);
  const ground: Ground = {
    ...place,
    root,
    temporary,
    git,
    commit(directory = ".") {
      git("init", "-q", directory);
      git("-C", directory, "add", "-A");
      git("-C", directory, "commit", "-q", "-m", "x");
    },
    remove: (path) => rmSync(at(path), { recursive: true }),
    link(target, path) {
      mkdirSync(dirname(at(path)), { recursive: true });
      symlinkSync(target, at(path));
    },
    makeExecutable: (path) => chmodSync(at(path), 0o755),
    snapshot({ searchPath = place.env.PATH ?? "", rules = {}, signal = live } = {}) {
      // The run's own directory is another one than where snapshots are.
      const tmp = join(temporary, "run");
      mkdirSync(tmp, { recursive: true });
      const policy = policyOf(place, { tmp, write: [root, tmp], ...rules });
      return takeSnapshot({ policy, temporary, searchPath }, signal);
    },
    key: (seq = 1) => ({ snapshots: join(place.home, "snapshots"), session: "s", by: "turn", seq }),
    async changedBy(change, options) {
      await using snapshot = await ground.snapshot(options);
      await change();
      const diff = await snapshot.changes(live);
      if (options?.keep === true) return diff;
      const key = ground.key();
      await snapshot.record(key, live);
      const { kept, lost } = await undo(key);
      const failed = [...kept, ...lost].map(({ path }) => relative(root, path));
      const left = (await snapshot.changes(live)).files.map(({ path }) => path);
      expect(left.filter((path) => !failed.includes(path))).toEqual([]);
      return diff;
    },
  };
  return ground;
}

/** Makes files what they were before the stored snapshots, the oldest first. */
export async function undo(...keys: readonly SnapshotKey[]): Promise<RestorePlan> {
  const contents = new Contents(keys[0]?.snapshots ?? "");
  const plan = await planRestoration(keys.flatMap(storedAt), { contents, force: false });
  using staged = await stageFiles(plan, { contents, staging: "test" });
  await staged.apply();
  return plan;
}

/** Nothing is stored of a turn without changes. */
export function storedAt(key: SnapshotKey): Manifest[] {
  const manifests = readManifest(manifestPath(key)) ?? [];
  if (manifests === "damaged") throw new Error(`The manifest "${manifestPath(key)}" is damaged.`);
  return manifests;
}

/** git with a user of its own, and no configuration from the machine that the test runs on. */
export function runGit(cwd: string, env: Record<string, string>, args: readonly string[]): string {
  const settings = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"];
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    ["git", ...settings, "-c", "protocol.file.allow=always", ...args],
    { cwd, env: { ...env, GIT_CONFIG_NOSYSTEM: "1" }, stdout: "pipe", stderr: "pipe" },
  );
  if (exitCode !== 0) throw new Error(`git ${args.join(" ")}: exit ${exitCode}\n${stderr.toString()}`);
  return stdout.toString();
}

/** `path kind +added -removed` for each file. */
export function summary({ files }: WorkDiff): string[] {
  return files.map(({ path, kind, added, removed }) => `${path} ${kind} +${added} -${removed}`);
}

/** A directory in which only these programs are, for a search path. */
export function programs(directory: string, scripts: Record<string, string>): string {
  mkdirSync(directory, { recursive: true });
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(directory, name), script);
    chmodSync(join(directory, name), 0o755);
  }
  return directory;
}
