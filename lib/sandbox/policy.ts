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
  /** Roots below which may be written: the project, `tmp`, and what `--allow-write` named. */
  readonly write: readonly string[];
  /** Paths that stay read-only even below a writable root. */
  readonly readonly: readonly string[];
  /** Paths that may not even be read. */
  readonly hide: readonly string[];
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
    write: [root, tmp, ...write],
    // git runs what stands in its directory, and koda obeys what stands in its own: neither is a command's to change.
    readonly: [`${root}/.git`, `${root}/.koda`],
    hide: dataDirectory === undefined ? [] : [dataDirectory],
  };
}
