import { fstatSync, readSync, statSync } from "node:fs";
import { errnoOf, KodaError, messageOf } from "../lib/errors.ts";
import { cancel, openReader, readToEnd, tooLarge, type Reader } from "./bytes.ts";
import { findHolder, type Holder } from "./pipe.ts";

export type StdinMode = "auto" | "append" | "require" | "ignore";

/** What standard input is; `terminal` stands for every device that is not /dev/null. */
type StdinKind = "nothing" | "terminal" | "file" | "pipe" | "socket";

/**
 * The part that it plays: asked for by `-`, the prompt for lack of another, added to a prompt, or a new prompt for a
 * session that can go on without one.
 */
export type StdinRole = "asked" | "prompt" | "addition" | "optional";

/** Read to the end, read if something comes soon, or not at all. */
type Plan = "read" | "offer" | "leave";

export type StdinRequest = {
  mode: StdinMode;
  role: StdinRole;
  /** Tells the user about the wait; not with --quiet. */
  note: (text: string) => void;
  /** Tells the user that input may be lost, always. */
  warn: (text: string) => void;
  /** Called before a read that may take as long as another process wants. */
  onWait: () => void;
  signal: AbortSignal;
};

/** Most programs that start koda with an open pipe and mean to write do so at once. */
const offerMs = 300;
/** Some write later; this long after its own start koda goes on without. */
const lateMs = 3_000;
/** A longer wait is announced. */
const noteAfterMs = 1_000;
const input = { name: "standard input", limit: 10 * 1024 * 1024, limitName: "10 MiB" };

/** The bytes of standard input; undefined when it is not read. Never waits long for a pipe that was left open and silent. */
export async function readStdin(request: StdinRequest): Promise<Uint8Array | undefined> {
  const kind = stdinKind();
  const plan = planFor(kind, request);
  if (plan === "leave") return undefined;
  try {
    return await readAs(plan, kind, request);
  } catch (error) {
    const code = errnoOf(error);
    if (error instanceof KodaError || code === undefined) throw error;
    const problem = code === "EISDIR" ? "it is a directory" : messageOf(error);
    throw new KodaError("usage", `Cannot read standard input: ${problem}`, { cause: error });
  }
}

function stdinKind(): StdinKind {
  try {
    const stats = fstatSync(0);
    if (stats.isFIFO()) return "pipe";
    if (stats.isSocket()) return "socket";
    if (!stats.isCharacterDevice()) return "file";
    return stats.rdev === statSync("/dev/null").rdev ? "nothing" : "terminal";
  } catch (error) {
    // Closed, which the runtime may or may not have filled with /dev/null.
    if (errnoOf(error) === "EBADF") return "nothing";
    throw error;
  }
}

function planFor(kind: StdinKind, { mode, role }: StdinRequest): Plan {
  if (mode === "ignore") return "leave";
  if (mode === "append" || mode === "require" || role === "asked") return "read";
  if (kind === "nothing" || kind === "terminal") return "leave";
  return kind === "file" || role === "prompt" ? "read" : "offer";
}

/**
 * A regular file from its current offset on: the shell's `read` in `while read line; do koda exec "$line"; done < list`
 * has taken its line already.
 */
function readFileToEnd({ role, note }: StdinRequest): Uint8Array {
  const pieces: Uint8Array[] = [];
  let length = 0;
  while (true) {
    const piece = new Uint8Array(64 * 1024);
    const read = readSync(0, piece);
    if (read === 0) break;
    pieces.push(piece.subarray(0, read));
    length += read;
    if (length > input.limit) throw tooLarge(input);
  }
  const bytes = Buffer.concat(pieces);
  const lines = bytes.toString("latin1").trimEnd().split("\n").length;
  if (role === "addition" && lines > 1)
    note(`added ${lines.toLocaleString("en")} lines of standard input to the prompt; --stdin ignore leaves it unread`);
  return bytes;
}

async function readAs(plan: "read" | "offer", kind: StdinKind, request: StdinRequest): Promise<Uint8Array | undefined> {
  const { note, warn, onWait, signal } = request;
  signal.throwIfAborted();
  if (kind === "file") return readFileToEnd(request);
  onWait();
  if (kind === "terminal") note("reading standard input from the terminal: Ctrl-D ends it");
  let isLimited = false;
  const longWait = setTimeout(() => note(waitingText(holderOf(kind), request, isLimited)), noteAfterMs);
  try {
    const reader = openReader(Bun.stdin.stream(), signal);
    const first = reader.read();
    if (plan === "offer" && (await isSilent(first, offerMs))) {
      const holder = holderOf(kind);
      isLimited = holder.kind !== "pipeline";
      if (isLimited && (await isSilent(first, lateMs - performance.now()))) {
        signal.throwIfAborted();
        cancel(reader);
        warn(goingOnText(holder));
        return undefined;
      }
    }
    return await readToEnd(reader, input, signal, first);
  } finally {
    clearTimeout(longWait);
  }
}

async function isSilent(first: ReturnType<Reader["read"]>, ms: number): Promise<boolean> {
  const { promise: silence, resolve } = Promise.withResolvers<true>();
  const timer = setTimeout(() => resolve(true), ms);
  try {
    return await Promise.race([silence, first.then(() => false)]);
  } finally {
    clearTimeout(timer);
  }
}

/** Looked for only when it matters, after some silence: most input has come by then. */
function holderOf(kind: StdinKind): Holder {
  return kind === "pipe" ? findHolder() : { kind: "unseen" };
}

function waitingText(holder: Holder, { role }: StdinRequest, isLimited: boolean): string {
  const isPrompt = role === "prompt" || role === "asked";
  const what = isPrompt ? "the prompt on standard input" : isLimited ? "standard input" : "the end of standard input";
  const until = isLimited ? `up to ${lateMs / 1000} s ` : "";
  const who = holder.kind === "unseen" ? "" : `, which ${holder.name} (process ${holder.pid}) holds open`;
  return `waiting ${until}for ${what}${who}${isPrompt ? "" : "; --stdin ignore goes on without it"}`;
}

function goingOnText(holder: Holder): string {
  const who =
    holder.kind === "unseen"
      ? "the process that holds it open cannot be seen"
      : `only ${holder.name} (process ${holder.pid}) holds it open`;
  return `going on without standard input: nothing came within ${lateMs / 1000} s and ${who}. What comes later is not read; --stdin append waits for it, --stdin ignore does not wait at all`;
}
