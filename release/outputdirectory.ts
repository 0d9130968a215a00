import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "./sha256.ts";

/** The directory of a release, emptied first, with the hashes of what has been written to it. */
export class OutputDirectory {
  readonly hashes: Record<string, string> = {};
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { recursive: true });
  }

  /** Returns the path of the file. */
  write(name: string, content: string | Uint8Array): string {
    const path = join(this.#path, name);
    writeFileSync(path, content);
    this.hashes[name] = sha256(content);
    process.stderr.write(`${name} ${(content.length / 1e6).toFixed(1)} MB\n`);
    return path;
  }

  /** The text of SHA256SUMS, by name. */
  sums(): string {
    const byName = Object.entries(this.hashes).sort(([a], [b]) => (a < b ? -1 : 1));
    return byName.map(([name, hash]) => `${hash}  ${name}\n`).join("");
  }
}
