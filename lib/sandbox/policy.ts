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
