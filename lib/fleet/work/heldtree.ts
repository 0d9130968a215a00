import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import { errnoOf } from "../../errors.ts";
import { Replaced } from "../../files/held.ts";

/** The contents of a file or a link. */
type Contents = Disposable &
  ({ kind: "link"; target: Buffer; size: number } | { kind: "file"; descriptor: number; mode: number; size: number });
type Found = Contents | (Disposable & { kind: "directory" });

/** Large ones in turn with everything else. */
export async function* piecesOf(found: Contents, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  if (found.kind === "link") return void (yield found.target);
  const piece = Buffer.allocUnsafe(pieceBytes);
  for (let length = 0; (length = readSync(found.descriptor, piece, 0, pieceBytes, null)) > 0;) {
    yield piece.subarray(0, length);
    if (length === pieceBytes) await yieldToEventLoop(signal);
  }
}

const pieceBytes = 1024 * 1024;

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_DIRECTORY } = constants;
/** Linux's O_PATH, which node:fs does not name. */
const directoryOnly = 0o10000000 | O_DIRECTORY | O_NOFOLLOW;

/** Other errors, as for too many open files, are thrown: the patch would lose a file that is there. */
const refusals: ReadonlySet<string> = new Set("ENOENT ENOTDIR ELOOP ESTALE EACCES EPERM ENAMETOOLONG ENXIO".split(" "));

/** A tree in which names lead through no symlink. They are bytes, as in git; those of HeldDirectory are texts. */
export class HeldTree implements Disposable {
  readonly #root: string;
  /** The directory of the last name. */
  #parent: { path: string; descriptor: number } | undefined;

  constructor(root: string) {
    this.#root = Buffer.from(root).toString("latin1");
  }

  /** Undefined for what cannot be read, and for anything else than files, links and directories. */
  open(name: string): Found | undefined {
    try {
      return this.#found(`${this.#root}/${name}`);
    } catch (error) {
      if (refusals.has(errnoOf(error) ?? "")) return undefined;
      throw error;
    }
  }

  #found(path: string): Found | undefined {
    const end = path.lastIndexOf("/");
    const entry = latin1Bytes(`/proc/self/fd/${this.#held(path.slice(0, end))}${path.slice(end)}`);
    const stats = lstatSync(entry);
    if (stats.isDirectory()) return { kind: "directory", [Symbol.dispose]() {} };
    if (stats.isSymbolicLink()) {
      const target = readlinkSync(entry, { encoding: "buffer" });
      return { kind: "link", target, size: target.length, [Symbol.dispose]() {} };
    }
    if (!stats.isFile()) return undefined;
    const descriptor = openSync(entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    const { mode, size } = fstatSync(descriptor);
    return { kind: "file", descriptor, mode: mode & 0o777, size, [Symbol.dispose]: () => closeSync(descriptor) };
  }

  #held(path: string): number {
    if (this.#parent?.path === path) return this.#parent.descriptor;
    this[Symbol.dispose]();
    const descriptor = openSync(latin1Bytes(path), directoryOnly);
    // Not by its name until that is known to be the real one.
    this.#parent = { path: "", descriptor };
    const real = readlinkSync(`/proc/self/fd/${descriptor}`, { encoding: "buffer" }).toString("latin1");
    if (real !== path) throw new Replaced(path);
    this.#parent = { path, descriptor };
    return descriptor;
  }

  [Symbol.dispose](): void {
    if (this.#parent !== undefined) closeSync(this.#parent.descriptor);
    this.#parent = undefined;
  }
}

/** A name of bytes, a character for each. */
export function latin1Bytes(name: string): Buffer {
  return Buffer.from(name, "latin1");
}
