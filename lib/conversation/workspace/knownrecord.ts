import { closeSync, futimesSync, openSync, readdirSync, readFileSync, statSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isRecord, parseJson } from "../../config/json.ts";
import { unlessRefused } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import { tryLock } from "../../system/descriptors.ts";
import { bornMs } from "../../trust/repositories/identity.ts";
import type { FoundRepository } from "../../trust/repositories/tree.ts";

const prefix = "koda-run-";

/** A command may outlive the last sign of life of a run that is killed. */
const slackMs = 5_000;

/**
 * A record of the repositories that were there before any command of a run. A killed run leaves it behind, and the next
 * run knows by it what else appeared below the same roots in that time, and was never judged.
 */
export class KnownRecord implements Disposable {
  readonly #path: string;
  readonly #file: number;
  readonly #left: readonly { path: string; record: Left | undefined }[];

  constructor(directory: string) {
    const others = readdirSync(directory).filter((name) => name.startsWith(prefix));
    this.#path = join(directory, `${prefix}${crypto.randomUUID()}`);
    this.#file = openSync(this.#path, "wx", 0o600);
    tryLock(this.#file, "alone");
    const abandoned = others.map((name) => join(directory, name)).filter(isAbandoned);
    this.#left = abandoned.map((path) => ({ path, record: unlessRefused(() => readLeft(path)) }));
  }

  /** Did a run of these roots get killed? */
  isNeeded(roots: readonly string[]): boolean {
    return this.#left.some(({ record }) => record?.roots.some((root) => roots.some((own) => overlap(root, own))));
  }

  /** Was it there before the commands of every killed run, or did it come after all of them? */
  isKnown(found: FoundRepository): boolean {
    return this.#left.every(
      ({ record }) =>
        record === undefined ||
        !record.roots.some((root) => isBelow(found.path, root)) ||
        record.known.has(keyOf(found)) ||
        bornMs(found.identity) > record.diedMs + slackMs,
    );
  }

  write(roots: readonly string[], found: readonly FoundRepository[]): void {
    writeSync(this.#file, JSON.stringify({ roots, known: found.map(keyOf) }), 0);
  }

  /** A sign of life. */
  touch(): void {
    futimesSync(this.#file, new Date(), new Date());
  }

  /** Forgets the killed runs of these roots: what they left has been judged. */
  settle(roots: readonly string[]): void {
    const isCovered = (root: string) => roots.some((own) => isBelow(root, own));
    for (const { path, record } of this.#left)
      if (record === undefined || record.roots.every(isCovered)) unlessRefused(() => unlinkSync(path));
  }

  [Symbol.dispose](): void {
    unlessRefused(() => unlinkSync(this.#path));
    closeSync(this.#file);
  }
}

/** By another name, a hard link, a file leads git elsewhere. */
function keyOf({ identity, kind, path }: FoundRepository): string {
  return kind === "directory" ? identity : `${identity} ${path}`;
}

/** A living run holds a lock on its record. */
export function isAbandoned(path: string): boolean {
  const opened = unlessRefused(() => openSync(path, "r"));
  if (opened === undefined) return false;
  try {
    return tryLock(opened, "alone");
  } finally {
    closeSync(opened);
  }
}

type Left = { roots: readonly string[]; known: ReadonlySet<string>; diedMs: number };

/** Undefined when it was not written to its end: then no command had run yet. */
function readLeft(path: string): Left | undefined {
  const written = parseJson(readFileSync(path, "utf8"));
  if (!isRecord(written)) return undefined;
  return { roots: texts(written.roots), known: new Set(texts(written.known)), diedMs: statSync(path).mtimeMs };
}

export function overlap(one: string, other: string): boolean {
  return isBelow(one, other) || isBelow(other, one);
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
