import { fstatSync, statSync } from "node:fs";
import { within } from "../lib/async/within.ts";
import { formatDuration } from "../lib/config/units.ts";
import { withCommas } from "../lib/counted.ts";
import { errnoOf, KodaError, messageOf } from "../lib/errors.ts";
import { readUpTo } from "../lib/files/read.ts";
import { cancel, openReader, readToEnd, tooLarge, type ByteReader } from "./bytes.ts";
import type { ExecOptions } from "./options.ts";
import { findHolder, type Holder } from "./pipe.ts";

/** The kind of file on stdin; `terminal` is any device but /dev/null. */
type StdinKind = "nothing" | "terminal" | "file" | "pipe" | "socket";

/**
 * The role of stdin: requested by `-`, the prompt because there is no other, an addition to a prompt, or an optional
 * prompt for a session that is continued.
 */
export type StdinRole = "asked" | "prompt" | "addition" | "optional";

/** The bytes of stdin; neither when it is not read. */
type StdinInput = { bytes?: Uint8Array; late?: LateStdin };

/** A pipe that was silent: the run begins without it, and what comes later is added to the conversation. */
export type LateStdin = {
  reader: ByteReader;
  first: ReturnType<ByteReader["read"]>;
  /** The time that is left for a first byte. */
  waitMs: number;
  signal: AbortSignal;
};

/** Read to the end, read if something comes soon, or do not read. */
type Plan = "read" | "wait" | "skip";

type StdinRequest = {
  mode: NonNullable<ExecOptions["stdin"]>;
  role: StdinRole;
  /** Prints a note about the wait; silent with --quiet. */
  note: (text: string) => void;
  /** Prints a warning that input may be lost, even with --quiet. */
  warn: (text: string) => void;
  /** Called before a read that may have to wait for another process. */
  onWait: () => void;
  signal: AbortSignal;
};

/** Most programs that start koda with a pipe and write to it do so at once. */
const promptMs = 300;
/** Some write later: a run does not end before this time since its start, as long as nothing has come. */
const lateMs = 3_000;
/** A note announces a longer wait. */
const noteAfterMs = 1_000;
export const stdinSource = { name: "stdin", limit: 10 * 1024 * 1024, limitName: "10 MiB" };

/** Reads stdin. Never waits long for a silent pipe that was left open. */
export async function readStdin(request: StdinRequest): Promise<StdinInput> {
  const kind = stdinKind();
  const plan = planFor(kind, request);
  if (plan === "skip") return {};
  try {
    return await readAs(plan, kind, request);
  } catch (error) {
    throw stdinError(error);
  }
}

/** An error of the operating system, for people. */
export function stdinError(error: unknown): unknown {
  const code = errnoOf(error);
  if (error instanceof KodaError || code === undefined) return error;
  const problem = code === "EISDIR" ? "it is a directory" : messageOf(error);
  return new KodaError("usage", `Cannot read stdin: ${problem}`, { cause: error });
}

function stdinKind(): StdinKind {
  try {
    const stats = fstatSync(0);
    if (stats.isFIFO()) return "pipe";
    if (stats.isSocket()) return "socket";
    if (!stats.isCharacterDevice()) return "file";
    return stats.rdev === statSync("/dev/null").rdev ? "nothing" : "terminal";
  } catch (error) {
    // Closed; the runtime may have opened /dev/null in its place.
    if (errnoOf(error) === "EBADF") return "nothing";
    throw error;
  }
}

function planFor(kind: StdinKind, { mode, role }: StdinRequest): Plan {
  if (mode === "ignore") return "skip";
  if (mode === "append" || mode === "require" || role === "asked") return "read";
  if (kind === "nothing" || kind === "terminal") return "skip";
  return kind === "file" || role === "prompt" ? "read" : "wait";
}

/**
 * Reads a regular file from its current offset: in `while read line; do koda exec "$line"; done < list` the shell has
 * already read its line.
 */
function readFileToEnd({ role, note }: StdinRequest): Uint8Array {
  const bytes = Buffer.from(readUpTo(0, { limit: stdinSource.limit + 1 }));
  if (bytes.length > stdinSource.limit) throw tooLarge(stdinSource);
  const lines = bytes.toString("latin1").trimEnd().split("\n").length;
  if (role === "addition" && lines > 1)
    note(`added ${withCommas(lines)} lines of stdin to the prompt; --stdin ignore leaves them unread`);
  return bytes;
}

async function readAs(plan: "read" | "wait", kind: StdinKind, request: StdinRequest): Promise<StdinInput> {
  const { role, note, warn, onWait, signal } = request;
  signal.throwIfAborted();
  if (kind === "file") return { bytes: readFileToEnd(request) };
  onWait();
  if (kind === "terminal") note("reading stdin from the terminal: Ctrl-D ends it");
  let isLimited = false;
  const longWait = setTimeout(() => note(waitingText(holderOf(kind), request, isLimited)), noteAfterMs);
  try {
    const reader = openReader(Bun.stdin.stream(), signal);
    const first = reader.read();
    if (plan === "wait" && (await isSilent(first, promptMs))) {
      const holder = holderOf(kind);
      isLimited = holder.kind !== "pipeline";
      if (isLimited && role === "addition") {
        signal.throwIfAborted();
        note(lateText(holder));
        return { late: { reader, first, signal, waitMs: lateMs - performance.now() } };
      }
      if (isLimited && (await isSilent(first, lateMs - performance.now()))) {
        signal.throwIfAborted();
        cancel(reader);
        warn(skippedText(holder));
        return {};
      }
    }
    return { bytes: await readToEnd(reader, stdinSource, signal, first) };
  } finally {
    clearTimeout(longWait);
  }
}

export async function isSilent(first: ReturnType<ByteReader["read"]>, ms: number): Promise<boolean> {
  let isSilent = true;
  await within(
    ms,
    first.then(() => (isSilent = false)),
  );
  return isSilent;
}

/** Searched for only after some silence: most input has arrived by then. */
function holderOf(kind: StdinKind): Holder {
  return kind === "pipe" ? findHolder() : { kind: "unseen" };
}

function waitingText(holder: Holder, { role }: StdinRequest, isLimited: boolean): string {
  const isPrompt = role === "prompt" || role === "asked";
  const what = isPrompt ? "the prompt on stdin" : isLimited ? "stdin" : "the end of stdin";
  const limit = isLimited ? `up to ${formatDuration(lateMs)} ` : "";
  const who = holder.kind === "unseen" ? "" : `, which ${holder.name} (process ${holder.pid}) holds open`;
  return `waiting ${limit}for ${what}${who}${isPrompt ? "" : "; --stdin ignore does not wait"}`;
}

function lateText(holder: Holder): string {
  return (
    `starting without stdin: nothing came within ${formatDuration(promptMs)} and ${nameOf(holder)}. Later input is ` +
    `added to the conversation, and the run waits for it until ${formatDuration(lateMs)} after its start; ` +
    "--stdin append waits for its end, --stdin ignore does not read it"
  );
}

function skippedText(holder: Holder): string {
  return (
    `continuing without stdin: nothing came within ${formatDuration(lateMs)} and ${nameOf(holder)}. ` +
    "Later input is not read; --stdin append waits for it, --stdin ignore does not wait"
  );
}

function nameOf(holder: Holder): string {
  if (holder.kind === "unseen") return "the process that holds it open is not visible";
  return `only ${holder.name} (process ${holder.pid}) holds it open`;
}
