import { fstatSync, statSync } from "node:fs";
import { within } from "../lib/async/within.ts";
import { formatDuration } from "../lib/config/units.ts";
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
/** Some write later; after this time since its start koda continues without input. */
const lateMs = 3_000;
/** A note announces a longer wait. */
const noteAfterMs = 1_000;
const input = { name: "stdin", limit: 10 * 1024 * 1024, limitName: "10 MiB" };

/** The bytes of stdin; undefined when it is not read. Never waits long for a silent pipe that was left open. */
export async function readStdin(request: StdinRequest): Promise<Uint8Array | undefined> {
  const kind = stdinKind();
  const plan = planFor(kind, request);
  if (plan === "skip") return undefined;
  try {
    return await readAs(plan, kind, request);
  } catch (error) {
    const code = errnoOf(error);
    if (error instanceof KodaError || code === undefined) throw error;
    const problem = code === "EISDIR" ? "it is a directory" : messageOf(error);
    throw new KodaError("usage", `Cannot read stdin: ${problem}`, { cause: error });
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
  const bytes = Buffer.from(readUpTo(0, { limit: input.limit + 1 }));
  if (bytes.length > input.limit) throw tooLarge(input);
  const lines = bytes.toString("latin1").trimEnd().split("\n").length;
  if (role === "addition" && lines > 1)
    note(`added ${lines.toLocaleString("en")} lines of stdin to the prompt; --stdin ignore leaves them unread`);
  return bytes;
}

async function readAs(plan: "read" | "wait", kind: StdinKind, request: StdinRequest): Promise<Uint8Array | undefined> {
  const { note, warn, onWait, signal } = request;
  signal.throwIfAborted();
  if (kind === "file") return readFileToEnd(request);
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
      if (isLimited && (await isSilent(first, lateMs - performance.now()))) {
        signal.throwIfAborted();
        cancel(reader);
        warn(skippedText(holder));
        return undefined;
      }
    }
    return await readToEnd(reader, input, signal, first);
  } finally {
    clearTimeout(longWait);
  }
}

async function isSilent(first: ReturnType<ByteReader["read"]>, ms: number): Promise<boolean> {
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

function skippedText(holder: Holder): string {
  const who =
    holder.kind === "unseen"
      ? "the process that holds it open is not visible"
      : `only ${holder.name} (process ${holder.pid}) holds it open`;
  return (
    `continuing without stdin: nothing came within ${formatDuration(lateMs)} and ${who}. Later input is not read; ` +
    "--stdin append waits for it, --stdin ignore does not wait"
  );
}
