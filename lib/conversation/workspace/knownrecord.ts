import { closeSync, openSync, readdirSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "../../config/json.ts";
import { unlessRefused } from "../../errors.ts";
import { tryLock } from "../../system/descriptors.ts";

/**
 * A record of the repositories that were there before any command of a run. A killed run leaves it behind, and the next
 * run of the same roots knows by it that everything else was never judged.
 */
export class KnownRecord implements Disposable {
  readonly #path: string;
  readonly #file: number;
  readonly #abandoned: readonly string[];
  /** The identities that every killed run of these roots knew; undefined when there was none. */
  readonly left: ReadonlySet<string> | undefined;

  constructor(directory: string, roots: readonly string[]) {
    const prefix = `koda-run-${Bun.hash(roots.join("\0")).toString(36)}-`;
    const others = readdirSync(directory).filter((name) => name.startsWith(prefix));
    this.#path = join(directory, `${prefix}${crypto.randomUUID()}`);
    this.#file = openSync(this.#path, "wx", 0o600);
    tryLock(this.#file, "alone");
    const abandoned = others.map((name) => join(directory, name)).filter(isAbandoned);
    this.#abandoned = abandoned;
    const [first, ...rest] = abandoned.map(identitiesIn);
    this.left = first && new Set([...first].filter((identity) => rest.every((each) => each.has(identity))));
  }

  write(identities: readonly string[]): void {
    writeSync(this.#file, JSON.stringify(identities), 0);
  }

  /** Forgets the killed runs: what they left has been judged. */
  settle(): void {
    for (const path of this.#abandoned) unlessRefused(() => unlinkSync(path));
  }

  [Symbol.dispose](): void {
    unlessRefused(() => unlinkSync(this.#path));
    closeSync(this.#file);
  }
}

/** A living run holds a lock on its record. */
function isAbandoned(path: string): boolean {
  const opened = unlessRefused(() => openSync(path, "r"));
  if (opened === undefined) return false;
  try {
    return tryLock(opened, "alone");
  } finally {
    closeSync(opened);
  }
}

/** A record that was not written to its end says that nothing was known. */
function identitiesIn(path: string): ReadonlySet<string> {
  const written = parseJson(unlessRefused(() => readFileSync(path, "utf8")) ?? "");
  return new Set(Array.isArray(written) ? written.filter((each) => typeof each === "string") : []);
}
