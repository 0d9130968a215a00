/**
 * What a run may touch, as data: file tools and the sandbox obey the same record. All paths are absolute, and real
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
  /** Paths that may not even be read. */
  readonly hide: readonly string[];
  /** Paths that may be read although something above them, or they themselves, would be hidden. */
  readonly show: readonly string[];
  /** Commands may commit: the root's own `.git` is writable, but for what git would run. */
  readonly allowGit: boolean;
  readonly network: "allowlist" | "none" | "open";
  readonly limits: ResourceLimits;
};

/** For each command; what is absent is as koda itself was given it. */
export type ResourceLimits = {
  readonly cpuSeconds?: number;
  readonly memoryBytes?: number;
  readonly openFiles?: number;
  readonly processes?: number;
};

export type Grants = {
  root: string;
  home: string;
  tmp: string;
  /** Writable roots beside the project and `tmp`. */
  write: readonly string[];
  /** koda's own state. */
  dataDirectory: string | undefined;
};

/** The policy of a run, from what it was granted. */
export function policyOf({ root, home, tmp, write, dataDirectory }: Grants): Policy {
  return {
    root,
    home,
    tmp,
    privateTmp: false,
    write: [root, tmp, ...write],
    // git runs what stands in its directory, and koda obeys what stands in its own: neither is a command's to change.
    readonly: [`${root}/.git`, `${root}/.koda`],
    hide: dataDirectory === undefined ? [] : [dataDirectory],
    show: [],
    allowGit: false,
    network: "allowlist",
    limits: {},
  };
}
