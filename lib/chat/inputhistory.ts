import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf, KodaError, reasonOf } from "../errors.ts";
import { tryLock } from "../system/descriptors.ts";
import { done, refused, type SubmissionReply } from "./reply.ts";
import type { SubmissionOf } from "./submission.ts";

/** An entry of the history, and what identifies the file: another file begins with other numbers. */
type HistoryEntry = { log: string | null; count: number; text?: string };

/** Another process holds the lock for one write. */
const lockTries = 20;
/** The end of the file has the latest inputs. */
const mostRead = 512 * 1024;

/** The inputs of all chats, oldest first: one JSON object a line, in a file that only its user can read. */
export class InputHistory {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  add(text: string): void {
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      this.#append(`${JSON.stringify({ at: new Date().toISOString(), text })}\n`);
    } catch (error) {
      if (error instanceof KodaError) throw error;
      throw new KodaError("output", `Cannot write "${this.#path}": ${reasonOf(error)}`, { cause: error });
    }
  }

  /** The entry with this number, from 0; without it, and for another file than `log`, only what there is. */
  get(offset?: number, log?: string): HistoryEntry {
    const { id, lines } = this.#read(Infinity);
    const text = offset === undefined || (log !== undefined && log !== id) ? undefined : textIn(lines[offset]);
    return { log: id, count: lines.length, ...(text !== undefined && { text }) };
  }

  /** Newest first. */
  latest(most: number): string[] {
    const texts = this.#read(mostRead).lines.flatMap((line) => textIn(line) ?? []);
    return texts.slice(-most).toReversed();
  }

  #append(line: string): void {
    const file = openSync(this.#path, "a+", 0o600);
    try {
      let tries = 0;
      while (!tryLock(file, "alone")) {
        if (++tries > lockTries) throw new KodaError("busy", `Cannot write "${this.#path}": it is locked`);
        Bun.sleepSync(1);
      }
      // A process that was killed may have left half a line.
      const { size } = fstatSync(file);
      const last = Buffer.alloc(1);
      const isWhole = size === 0 || (readSync(file, last, 0, 1, size - 1), last[0] === 10);
      writeSync(file, isWhole ? line : `\n${line}`);
    } finally {
      closeSync(file);
    }
  }

  #read(most: number): { id: string | null; lines: string[] } {
    try {
      const file = openSync(this.#path, "r");
      try {
        const { ino, size } = fstatSync(file);
        if (size <= most) return { id: String(ino), lines: linesOf(readFileSync(file, "utf8")) };
        const end = Buffer.alloc(most);
        readSync(file, end, 0, most, size - most);
        // The first of them may be half a line.
        return { id: String(ino), lines: linesOf(end.toString()).slice(1) };
      } finally {
        closeSync(file);
      }
    } catch (error) {
      // There is no history yet, or it cannot be read.
      if (errnoOf(error) !== undefined) return { id: null, lines: [] };
      throw error;
    }
  }
}

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

/** Undefined for half a line of a process that was killed. */
function textIn(line: string | undefined): string | undefined {
  if (line === undefined) return undefined;
  try {
    const { text } = JSON.parse(line) as { text?: unknown };
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Adds an input, or looks for earlier ones. */
export function historyReply(
  history: InputHistory | undefined,
  submission: SubmissionOf<"history.add" | "history.get">,
): SubmissionReply {
  if (history === undefined) return refused("usage", "A chat with --ephemeral has no history of inputs");
  try {
    if (submission.op === "history.get") return done(history.get(submission.offset, submission.log));
    history.add(submission.text);
    return done();
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    return refused(error.code, error.message);
  }
}
