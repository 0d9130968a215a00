import { dirname } from "node:path";
import type { Mode, Network } from "../../config/config.ts";
import { configFileIn } from "../../config/paths.ts";
import { KodaError } from "../../errors.ts";
import { folded, isInFolded } from "../../files/path.ts";
import { hiddenByDefault, readonlyByDefault, shownByDefault } from "./defaults.ts";
import { hiddenFrom, isHiddenBy } from "./reach.ts";

/**
 * The rights of a run, as data: file tools and the sandbox obey the same record. All paths are absolute, and real
 * (no symlink in them), and an empty list means nothing, never everything.
 */
export type Policy = {
  /** The project: where commands start and what relative paths are relative to. */
  readonly root: string;
  /** The user's home: what `~` stands for, and never to be deleted. */
  readonly home: string;
  /** A directory of this run alone, gone after it. */
  readonly tmp: string;
  /** Commands find `tmp` as `/tmp`, and nothing else there: a sandbox with mounts puts it in that place. */
  readonly privateTmp: boolean;
  /** Roots below which may be written: the project, `tmp`, and what `--allow-write` named. */
  readonly write: readonly string[];
  /** Paths that stay read-only even below a writable root. */
  readonly readonly: readonly string[];
  /** Those of them that nobody restores: a tier that cannot hold them is none. Absent where there are none. */
  readonly held?: readonly string[];
  /** The repositories and settings of koda below the roots, which stay as they are like those. */
  readonly repositories: RepositoryPaths;
  /** Paths that may not even be read. */
  readonly hide: readonly string[];
  /** Paths that may be read although something above them, or they themselves, would be hidden. */
  readonly show: readonly string[];
  /** Copies of hidden settings for commands to read. */
  readonly copies: readonly SettingsCopy[];
  /** Commands may commit: the root's own `.git` is writable, but for what git would run. */
  readonly allowGit: boolean;
  /** Files that tell other tools what to run may be changed. */
  readonly allowConfig: boolean;
  readonly network: Network;
  readonly limits: ResourceLimits;
  /**
   * The users whose files commands of user 0 may write although modes say otherwise, beside user 0. Absent where
   * nothing but koda's own rights counts.
   */
  readonly owners?: readonly number[];
};

/** They are looked for while the run already begins, and again later: every policy of a run has the same list. */
type RepositoryPaths = {
  paths: readonly string[];
  /** Those of them that tell other tools what to run. */
  config?: readonly string[];
};

/** A copy of a tool's settings without the credentials in them; the file itself is hidden. */
export type SettingsCopy = {
  /** The real path of the file. */
  readonly at: string;
  readonly copy: string;
  /** The file holds nothing else, so that it may be read itself where no copy can be put in its place. */
  readonly isWhole: boolean;
  /** The variable that leads a tool to the copy where it cannot be put in the file's place. */
  readonly variable?: { readonly name: string; readonly value: string };
};

/** For each command; what is absent is as koda itself was given it. */
export type ResourceLimits = {
  readonly cpuSeconds?: number;
  readonly memoryBytes?: number;
  readonly openFiles?: number;
  readonly processes?: number;
};

/** The grants to a run. Every path is absolute, and real but for those that go through `resolve`. */
export type Grants = {
  readonly mode: Mode;
  readonly root: string;
  readonly home: string;
  /** The home that the system knows for the account (`accountHome` in lib/config): secrets may lie there too. */
  readonly accountHome: string | undefined;
  /** Homes of other accounts, where commands may have the right to read what their owners alone may read. */
  readonly otherHomes?: readonly string[];
  /** Directories in which looking up a name makes the machine ask the network for it. Go through `resolve`. */
  readonly automounts?: readonly string[];
  readonly tmp: string;
  /** Commands will find `tmp` in the place of `/tmp`. */
  readonly privateTmp: boolean;
  /** `--allow-write`: writable roots beside the project and `tmp`. */
  readonly write: readonly string[];
  /** `--allow-read`: what may be read though it is hidden by default. Goes through `resolve`. */
  readonly read: readonly string[];
  /** Directories of the user's skills: readable, also where koda keeps its own state. Go through `resolve`. */
  readonly skills?: readonly string[];
  /** `--deny-read`: hidden too. Goes through `resolve`. */
  readonly hide: readonly string[];
  /** koda's own state, which is hidden, and the user's configuration, never written. Go through `resolve`. */
  readonly dataDirectory: string | undefined;
  readonly configDirectory: string | undefined;
  /** Places of the project's repository, as where its `.git` leads to (`leadsTo` in lib/git). Go through `resolve`. */
  readonly gitPlaces: readonly string[];
  /** koda's own program, and the configuration that git has elsewhere: never written. Go through `resolve`. */
  readonly keep?: readonly string[];
  /** Copies of settings; one counts where the file is hidden by default, and not when the user hides or shows it. */
  readonly copies: readonly SettingsCopy[];
  readonly allowGit: boolean;
  readonly allowConfig: boolean;
  readonly network: Network;
  /** Overrides single standard limits. */
  readonly limits?: ResourceLimits;
  /** All real paths that a rule about a path is about: `realPaths` in lib/files, which looks at the file system. */
  readonly resolve: (path: string) => readonly string[];
};

const standardLimits: ResourceLimits = { processes: 8192 };

/** The policy of a run, from what it was granted; throws where the project itself would be hidden. */
export function policyOf(grants: Grants): Policy {
  const { mode, root, home, tmp, privateTmp, allowGit, allowConfig, network, limits, resolve } = grants;
  const all = (paths: readonly string[]) => unique(paths.flatMap(resolve));
  const state = all(present(grants.dataDirectory));
  const denied = unique([...state, ...all(grants.hide)]);
  // Headers and commands of providers may hold keys.
  const configFile = present(grants.configDirectory).map(configFileIn);
  const hide = unique([...denied, ...all([...configFile, ...hiddenByDefault(grants), ...(grants.automounts ?? [])])]);
  // Writable paths are readable, but for those that the user hides by name.
  const opened = [...grants.read, ...(grants.skills ?? []), ...shownByDefault];
  const read = [...all(opened), ...grants.write].filter((path) => !isOneOf(path, denied));
  refuseState([root, ...grants.write, ...all(grants.read)], state);
  refuseHiddenRoot(root, { hide, show: read, denied });

  const write = unique([root, tmp, ...grants.write]);
  // A copy that a command replaced by a symlink would show the next command the link's target.
  const places = unique(grants.copies.map(({ copy }) => dirname(copy)));
  const kept = all([...present(grants.configDirectory), ...readonlyByDefault(grants), ...(grants.keep ?? [])]);
  const held = kept.filter((path) => isInFolded(path, write));
  const fixed = all([...grants.gitPlaces, ...kept, ...places]);
  // A tier without a private /tmp closes the real one.
  const covered = hiddenFrom({ hide, privateTmp: true });
  const policy: Policy = {
    root,
    home,
    tmp,
    privateTmp,
    write,
    readonly: fixed.filter((path) => isInFolded(path, write)),
    ...(held.length > 0 && { held }),
    repositories: { paths: [] },
    hide,
    show: unique([root, ...read]).filter((path) => isInFolded(path, covered)),
    copies: grants.copies.filter(
      ({ at }) => !isInFolded(at, denied) && isHiddenBy(at, { hide: hide.map(folded), show: read, write }),
    ),
    allowGit,
    allowConfig,
    network,
    limits: { ...standardLimits, ...limits },
  };
  return mode === "plan" ? readOnly(policy) : policy;
}

/** The same policy as mode plan has it: nothing but the private directory for temporary files can be written. */
export function readOnly(policy: Policy): Policy {
  const write = [policy.tmp];
  return { ...policy, write, readonly: policy.readonly.filter((path) => isInFolded(path, write)) };
}

/**
 * The same policy for an agent that may only read while others write. What it left in their directory for temporary
 * files, or said to their servers, they might obey: it reads that directory, and connects to nothing.
 */
export function withoutEffects(policy: Policy): Policy {
  return { ...policy, write: [], readonly: [], show: unique([...policy.show, policy.tmp]), network: "none" };
}

function refuseState(opened: readonly string[], state: readonly string[]): void {
  const inside = opened.find((path) => isInFolded(path, state));
  if (inside === undefined) return;
  const message = `Cannot open "${inside}" to a run: koda keeps its own state there. Choose another directory, or another KODA_HOME.`;
  throw new KodaError("usage", message);
}

type Rules = Pick<Policy, "hide" | "show"> & { denied: readonly string[] };

/** Working inside of a hidden directory would quietly open a part of it, so it has to be asked for. */
function refuseHiddenRoot(root: string, { hide, show, denied }: Rules): void {
  if (!isHiddenBy(root, { hide: hide.map(folded), show, write: [] })) return;
  const way = isOneOf(root, denied) ? "Take back --deny-read (sandbox.hide)." : `Pass --allow-read ${root} to open it.`;
  throw new KodaError("usage", `Cannot work in "${root}": it is hidden from every run. ${way}`);
}

function isOneOf(path: string, paths: readonly string[]): boolean {
  return paths.some((other) => folded(other) === folded(path));
}

function present(path: string | undefined): readonly string[] {
  return path === undefined ? [] : [path];
}

export function unique(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)];
}
