import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { unlessRefused } from "../errors.ts";
import { Unrestorable } from "../files/restore.ts";

/**
 * Contents of files, compressed, by their SHA-256: the same content is kept once. On sources zstd at level 1 is as
 * small as gzip at level 6 in a third of the time.
 */
export class Contents {
  readonly #directory: string;
  #added = 0;

  constructor(snapshots: string) {
    this.#directory = join(snapshots, "contents");
  }

  /** The bytes on the disk that were added by this object. */
  get added(): number {
    return this.#added;
  }

  add(bytes: Uint8Array): string {
    const hash = hashOf(bytes);
    const path = join(this.#directory, hash);
    if (touch(path)) return hash;
    const packed = Bun.zstdCompressSync(bytes, { level: 1 });
    putWhole(path, packed);
    this.#added += packed.length;
    return hash;
  }

  /** Throws when it is not there as it was. */
  read(hash: string): Uint8Array {
    const packed = unlessRefused(() => readFileSync(join(this.#directory, hash)));
    if (packed === undefined) throw lost("its content is gone from koda's snapshots");
    const bytes = unlessRefused(() => Bun.zstdDecompressSync(packed));
    if (bytes !== undefined && hashOf(bytes) === hash) return bytes;
    throw lost("its content in koda's snapshots is damaged");
  }

  list(): { hash: string; bytes: number; usedMs: number }[] {
    const names = unlessRefused(() => readdirSync(this.#directory)) ?? [];
    return names.flatMap((hash) => {
      const stats = statSync(join(this.#directory, hash), { throwIfNoEntry: false });
      return stats === undefined ? [] : [{ hash, bytes: stats.size, usedMs: stats.mtimeMs }];
    });
  }

  remove(hash: string): void {
    rmSync(join(this.#directory, hash), { force: true });
  }
}

/** False when there is no such file. One that was just used is not swept before a manifest names it. */
function touch(path: string): boolean {
  const now = Date.now() / 1000;
  return unlessRefused(() => (utimesSync(path, now, now), true)) ?? false;
}

export function hashOf(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

/** A file of the directory of snapshots appears whole or not at all, though its process is killed. */
export function putWhole(path: string, content: string | Uint8Array): void {
  const directory = dirname(path);
  const temporary = join(directory, `${unfinished}${crypto.randomUUID()}`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(temporary, content, { mode: 0o600, flag: "wx" });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The names of files begin with it until they are complete. */
export const unfinished = ".new-";

function lost(reason: string): Unrestorable {
  return new Unrestorable({ kind: "lost", reason });
}
