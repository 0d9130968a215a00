import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  type BigIntStats,
  type Dirent,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { errnoOf, unlessRefused } from "../errors.ts";

/**
 * A directory that is held open, so that what was checked is what is used: a command that runs at the same time may put
 * a symlink in place of any directory on the way, and the work still happens in the one that is held, or fails.
 *
 * node:fs has no openat(), but on Linux `/proc/self/fd/N/name` names an entry of the directory behind a descriptor. On
 * systems without it each use looks again whether the path is still free of symlinks, which leaves a gap of
 * microseconds.
 */
export class HeldDirectory implements Disposable {
  /** The path that it was found at; for messages, not for opening. */
  readonly path: string;
  readonly #descriptors: string;
  readonly #descriptor: number | undefined;

  private constructor(path: string, descriptors: string, descriptor: number | undefined) {
    this.path = path;
    this.#descriptors = descriptors;
    this.#descriptor = descriptor;
  }

  /** Holds the directory at a real path; with `create` the missing part of the path is made on the way. */
  static open(real: string, { create = false, descriptors = "/proc/self/fd" } = {}): HeldDirectory {
    const canName = existsSync(descriptors);
    const top = new HeldDirectory("/", descriptors, canName ? openSync("/", directoryOnly) : undefined);
    return goDown(top, namesIn(real), create);
  }

  /** Holds a directory below, or this one once more by the path `.`. */
  descend(path: string, { create = false } = {}): HeldDirectory {
    const [first, ...others] = namesIn(path);
    if (first !== undefined) return goDown(this.child(first, { create }), others, create);
    const own = this.#descriptor === undefined ? undefined : openSync(`${this.#self()}/.`, directoryOnly);
    return new HeldDirectory(this.path, this.#descriptors, own);
  }

  /** Throws when the entry is not a directory; a symlink to one is not. */
  child(name: string, { create = false } = {}): HeldDirectory {
    if (create && this.look(name) === undefined) this.#make(name);
    const path = join(this.path, name);
    if (this.#descriptor !== undefined)
      return new HeldDirectory(path, this.#descriptors, openSync(this.at(name), directoryOnly));
    if (!lstatSync(this.at(name)).isDirectory()) throw new Replaced(path);
    return new HeldDirectory(path, this.#descriptors, undefined);
  }

  #make(name: string): void {
    try {
      mkdirSync(this.at(name));
    } catch (error) {
      // Another process was faster, which is as good.
      if (errnoOf(error) !== "EEXIST") throw error;
    }
  }

  /** The path by which node:fs reaches an entry of this very directory. */
  at(name: string): string {
    if (name === "" || name === "." || name === ".." || name.includes("/")) throw new Error(`not an entry: "${name}"`);
    return join(this.#self(), name);
  }

  #self(): string {
    if (this.#descriptor !== undefined) return `${this.#descriptors}/${this.#descriptor}`;
    if (realpathSync(this.path) !== this.path) throw new Replaced(this.path);
    return this.path;
  }

  names(): string[] {
    return readdirSync(this.#self()).sort();
  }

  /** By name. */
  entries(): Dirent[] {
    return readdirSync(this.#self(), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The directory itself, for a process that is to be started in it. */
  get cwd(): string {
    return this.#descriptor === undefined ? this.#self() : `/proc/${process.pid}/fd/${this.#descriptor}`;
  }

  chmod(mode: number): void {
    chmodSync(this.#self(), mode);
  }

  /** Only user 0 may give it away; for everyone else it stays their own. */
  chown({ uid, gid }: Ownership): void {
    unlessRefused(() => chownSync(this.#self(), Number(uid), Number(gid)));
  }

  /** Looks at an entry; a symlink is not followed. */
  look(name: string): BigIntStats | undefined {
    return lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false });
  }

  /** Opens a regular file for reading. */
  openFile(name: string): OpenFile {
    return openRegular(this.at(name), join(this.path, name));
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }
}

/** Each directory is held until the next one is. */
function goDown(start: HeldDirectory, names: readonly string[], create: boolean): HeldDirectory {
  let held = start;
  for (const name of names) {
    using parent = held;
    held = parent.child(name, { create });
  }
  return held;
}

export function namesIn(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

/** Linux's O_PATH, which node:fs does not name: a directory that may be entered but not listed can be held too. */
const O_PATH = 0o10000000;
const directoryOnly = O_PATH | O_DIRECTORY | O_NOFOLLOW;

export type Ownership = { uid: number | bigint; gid: number | bigint };

export type OpenFile = Disposable & { descriptor: number; stats: BigIntStats };

/** Opens a regular file for reading, not through a symlink; never waits for a FIFO's writer. */
export function openRegular(path: string, named = path): OpenFile {
  const descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  const stats = fstatSync(descriptor, { bigint: true });
  const file = { descriptor, stats, [Symbol.dispose]: () => closeSync(descriptor) };
  if (stats.isFile()) return file;
  file[Symbol.dispose]();
  throw new Replaced(named);
}

/** Opens the regular file at a real path for reading, and nothing that was put in its place meanwhile. */
export function openFile(real: string): OpenFile {
  using directory = HeldDirectory.open(dirname(real));
  return directory.openFile(basename(real));
}

/** Something else lies now where the checked thing was. */
export class Replaced extends Error {
  override readonly name = "Replaced";
  /** As a system call says of a handle whose file was replaced. */
  readonly code = "ESTALE";

  constructor(path: string) {
    super(`"${path}" was replaced by something else meanwhile`);
  }
}
