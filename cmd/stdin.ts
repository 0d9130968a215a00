import { fstatSync, statSync } from "node:fs";
import { errnoOf, KodaError, messageOf } from "../lib/errors.ts";
import { cancel, openReader, readToEnd, type Reader } from "./bytes.ts";
import { findHolder, type Holder } from "./pipe.ts";

export type StdinMode = "auto" | "append" | "require" | "ignore";

/** What standard input is; `terminal` stands for every device that is not /dev/null. */
type StdinKind = "nothing" | "terminal" | "file" | "pipe" | "socket";

/** What it is for: it was asked for by `-`, it is the prompt for want of another, or it comes beside one. */
export type StdinRole = "asked" | "prompt" | "addition";

/** Read to the end, read if something comes soon, or not at all. */
type Plan = "read" | "offer" | "leave";

export type StdinRequest = {
  mode: StdinMode;
  role: StdinRole;
  /** Tells the user what is waited for. */
  note: (text: string) => void;
  signal: AbortSignal;
};

/** Who starts koda with an open pipe and means to send something does so at once. */
const offerMs = 300;
/** Waiting longer than this is worth a word. */
const noteAfterMs = 1_000;
const input = { name: "standard input", limit: 10 * 1024 * 1024, limitName: "10 MiB" };

/** What standard input has to say, undefined when it is not read. Never waits for a pipe that was left open and silent. */
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

async function readAs(plan: "read" | "offer", kind: StdinKind, request: StdinRequest): Promise<Uint8Array | undefined> {
  const { note, signal } = request;
  signal.throwIfAborted();
  if (kind === "terminal") note("reading standard input from the terminal: Ctrl-D ends it");
  const longWait = setTimeout(() => note(waitingText(holderOf(kind), request)), noteAfterMs);
  try {
    const reader = openReader(Bun.stdin.stream(), signal);
    const first = reader.read();
    if (plan === "offer" && (await isSilent(first))) {
      const holder = holderOf(kind);
      if (holder.kind !== "pipeline") {
        cancel(reader);
        note(goingOnText(holder));
        return undefined;
      }
    }
    return await readToEnd(reader, input, signal, first);
  } finally {
    clearTimeout(longWait);
  }
}

async function isSilent(first: ReturnType<Reader["read"]>): Promise<boolean> {
  const { promise: silence, resolve } = Promise.withResolvers<true>();
  const timer = setTimeout(() => resolve(true), offerMs);
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

function waitingText(holder: Holder, { role }: StdinRequest): string {
  const what = role === "addition" ? "the end of standard input" : "the prompt on standard input";
  const who = holder.kind === "unseen" ? "" : `, which ${holder.name} (process ${holder.pid}) holds open`;
  return `waiting for ${what}${who}${role === "addition" ? "; --stdin ignore goes on without it" : ""}`;
}

function goingOnText(holder: Holder): string {
  const who =
    holder.kind === "unseen"
      ? "who holds it open cannot be seen"
      : `only ${holder.name} (process ${holder.pid}) holds it open`;
  return `going on without standard input: nothing came within ${offerMs} ms and ${who}; --stdin append waits for its end`;
}
