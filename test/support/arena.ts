import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { unlessRefused } from "../../lib/errors.ts";
import type { ResourceLimits } from "../../lib/sandbox/policy/policy.ts";
import { fingerprint, processState } from "./fingerprint.ts";
import type { Place } from "./place.ts";
import { strangerIn, type Stranger } from "./stranger.ts";
import { openTier, type OpenTier, type Ran, type TierName, type User } from "./tiers.ts";

/**
 * A project for commands to work in, and beside it a home, files and a process that are none of their business, all
 * made by the test: whatever a command attacks, it can only harm these.
 */
export type Arena = AsyncDisposable & {
  readonly tier: OpenTier;
  readonly stranger: Stranger;
  run(command: Parameters<OpenTier["run"]>[0]): Promise<Attempted>;
  /** Removes what commands have added to the project. */
  tidy(): void;
  /** Puts files back that a command has changed; false when not all is as it was. */
  repair(): boolean;
};

export type Attempted = Ran & {
  /** Both streams, the arena's directory left out. */
  output: string;
  /** What is not as it was before the command, of all that is none of the commands' business. */
  changes(): readonly string[];
};

export type Ground = {
  /** What the project begins with: repositories of all kinds, or nothing at all. */
  project?: "repositories" | "nothing";
  limits?: ResourceLimits;
};

export async function openArena(
  name: TierName,
  { user, project = "repositories", limits = {} }: Ground & { user: User },
): Promise<Arena> {
  await using held = new AsyncDisposableStack();
  const place = makeArenaPlace(project);
  held.use(place);
  const base = dirname(place.project);
  const outside = join(base, "outside");
  const tier = await openTier(name, place, {
    user,
    guarded: project === "nothing",
    grants: {
      dataDirectory: join(place.home, ".local/koda"),
      configDirectory: join(place.home, ".config/koda"),
      limits,
    },
  });
  held.use(tier);
  if (project === "repositories") tier.protect(protectedPaths.map((path) => join(base, path)));
  // Giving the place away takes this off.
  chmodSync(join(outside, "setuid"), 0o4755);
  const stranger = await strangerIn(outside, user);
  held.defer(async () => void (await stranger.leave()));

  const env = {
    ...stranger.variables,
    P: place.project,
    H: place.home,
    OUT: outside,
    KODA: String(tier.pid),
    // To git a guest's project is a stranger's, with a sandbox or without.
    ...(user === "guest" && {
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
    }),
  };
  const look = () => ({
    ...fingerprint(base, ["home", "outside"], { times: true }),
    ...fingerprint(base, [...protectedPaths, "project/src/.vscode"], { times: false }),
    ...processState(stranger.pid),
  });
  const repair = repairOf(base, held, look);
  const added = addedTo(join(place.project, "src"), place.project);
  const tidy = () => added().forEach((path) => rmSync(path, { recursive: true, force: true }));
  const opened = held.move();
  return {
    tier,
    stranger,
    repair: () => {
      tidy();
      // A sandbox may know files by more than their names.
      return repair(name === "none");
    },
    tidy,
    async run(command) {
      const before = look();
      const ran = await tier.run(command, { env, timeoutMs: 30_000 });
      const output = `${ran.stdout}${ran.stderr}`.replaceAll(base, "").trim();
      return { ...ran, output, changes: () => differences(before, look()) };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Not in /tmp, which commands may find replaced: what is refused there would only be missing. */
function makeArenaPlace(project: Ground["project"]): Place {
  const base = realpathSync(mkdtempSync("/var/tmp/koda-arena-"));
  chmodSync(base, 0o755);
  const place: Place = {
    home: join(base, "home"),
    project: join(base, "project"),
    env: {
      HOME: join(base, "home"),
      TMPDIR: join(base, "tmp"),
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      LANG: "C.UTF-8",
      SECRET: "of koda",
      // koda's part is played by Bun itself, which would keep compiled files in this home.
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
    },
    write(path, content) {
      const target = join(base, "project", path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, content);
      return target;
    },
    async [Symbol.asyncDispose]() {
      rmSync(base, { recursive: true, force: true });
    },
  };
  for (const [path, content] of Object.entries(around)) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), content);
  }
  cpSync("/bin/true", join(base, "outside/setuid"));
  for (const directory of ["tmp", "project", "outside/directory"])
    mkdirSync(join(base, directory), { recursive: true });
  place.write("src/file", "the project's\n");
  if (project === "repositories") makeRepositories(place);
  return place;
}

const around: Record<string, string> = {
  "home/.bashrc": "the user's\n",
  "home/.ssh/id": "secret\n",
  "home/.netrc": "secret\n",
  "home/.local/koda/koda.db": "secret\n",
  "home/.config/koda/config.json": "{}\n",
  "home/code/readme": "to be read\n",
  "outside/file": "somebody's\n",
};

/** In the project: one in a directory, a bare one, and one whose `.git` is a file that says where it is. */
const nestedRepositories = ["nested/.git", "bare.git", "linked/.git", "store/linked.git"];
const toolConfigs = [".vscode", ".envrc", ".agents", "packages/x/.claude"];
const protectedPaths = [".git", ".koda", ...nestedRepositories, ...toolConfigs].map((path) => `project/${path}`);

function makeRepositories({ project, home, env }: Place): void {
  const script = `
    git init -q -b main . && git -c user.name=a -c user.email=a@example.test add src && ${commit} one
    echo two >> src/file && ${commit} two
    git init -q -b main nested
    git init -q -b main --bare bare.git
    mkdir store && git init -q -b main --separate-git-dir=store/linked.git linked
    git worktree add -q --detach tree
    mkdir .koda && echo '{}' > .koda/settings.json
    mkdir -p .vscode .agents/skills/x packages/x/.claude && echo mine > .envrc
    echo mine > .agents/skills/x/SKILL.md
    echo '{}' > .vscode/settings.json && echo '{}' > packages/x/.claude/settings.json
    mkdir -p .git/hooks nested/.git/hooks`;
  const { exitCode, stderr } = Bun.spawnSync(["sh", "-ec", script], {
    cwd: project,
    env: { PATH: env.PATH ?? "", HOME: home, GIT_TEMPLATE_DIR: "" },
  });
  if (exitCode !== 0) throw new Error(`The arena's repositories could not be made: ${stderr.toString()}`);
}

const commit = "git -c user.name=a -c user.email=a@example.test commit -qam";

type Look = () => Record<string, string>;

/** Puts files back from a copy; where `mayReplace` is not said, only those that are still the same files. */
function repairOf(base: string, held: AsyncDisposableStack, look: Look): (mayReplace: boolean) => boolean {
  const copy = mkdtempSync("/var/tmp/koda-copy-");
  held.defer(async () => rmSync(copy, { recursive: true, force: true }));
  const { exitCode, stderr } = Bun.spawnSync(["cp", "-a", ...copied, copy], { cwd: base });
  if (exitCode !== 0) throw new Error(`The arena could not be copied: ${stderr.toString()}`);
  const all = () => ({ ...fingerprint(base, copied, { times: true }), ...look() });
  const before = all();
  const files = new Map(Object.keys(before).map((path) => [path, statsOf(join(base, path))?.ino]));
  return (mayReplace) => {
    for (const path of differences(before, all())) {
      const [now, then] = [join(base, path), join(copy, path)];
      const isSame = files.get(path) !== undefined && statsOf(now)?.ino === files.get(path);
      if (!(isSame ? restore(now, then) : mayReplace && replace(now, then))) return false;
    }
    return differences(before, all()).length === 0;
  };
}

const copied = ["home", "outside", "project"];

/** Undefined also for what has a file on the way to it. */
function statsOf(path: string): Stats | undefined {
  return unlessRefused(() => lstatSync(path));
}

function restore(path: string, copy: string): boolean {
  const stats = lstatSync(copy);
  if (stats.isFile()) return Bun.spawnSync(["cp", "-aT", copy, path]).exitCode === 0;
  if (!stats.isDirectory()) return false;
  chownSync(path, stats.uid, stats.gid);
  chmodSync(path, stats.mode);
  return true;
}

/** A socket that has been put back has no listener. */
function replace(path: string, copy: string): boolean {
  const stats = statsOf(copy);
  if (stats?.isSocket()) return false;
  if (stats === undefined && statsOf(path) === undefined) return true;
  rmSync(path, { recursive: true, force: true });
  return stats === undefined || Bun.spawnSync(["cp", "-aT", copy, path]).exitCode === 0;
}

/** Finds entries that appear in these directories later. */
function addedTo(...directories: readonly string[]): () => readonly string[] {
  const paths = () => directories.flatMap((path) => readdirSync(path).map((name) => join(path, name)));
  const before = new Set(paths());
  return () => paths().filter((path) => !before.has(path));
}

function differences(before: Record<string, string>, after: Record<string, string>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => before[name] !== after[name]).sort();
}
