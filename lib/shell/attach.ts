import { errnoName, errnoOf, KodaError, messageOf } from "../errors.ts";
import { failedStep } from "../sandbox/assembly/failure.ts";
import type { Confined } from "../sandbox/backend.ts";
import { sendSignal } from "../system/kill.ts";
import { closePipe, type Pipe, readerOf } from "../system/pipe.ts";
import { terminalOf } from "../system/procstat.ts";
import { drain } from "./drain.ts";
import { type Mark, marked } from "./marks.ts";
import { type CannotStart, cannotStart, type ProgramLine } from "./program.ts";
import { type ExitStatus, statusOf } from "./status.ts";

/** A program that has koda's own streams. */
export type Attached = {
  /** Settles when the program itself is over; rejects with a KodaError when it never began. */
  readonly ended: Promise<ExitStatus>;
  /** Passes a signal that koda got on to all of it, as soon as the program has begun. */
  forward(signal: NodeJS.Signals): void;
};

type Attachment = {
  command: Confined;
  mark: Mark;
  /** It stays in koda's process group, so that a terminal treats both as one job. */
  sharesGroup: boolean;
};

/** The signals that a terminal itself sends to the whole group in front. */
const keys: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];

export function attach(line: ProgramLine, { command, mark, sharesGroup }: Attachment): Attached {
  const { process: child, complaint } = spawn(line, command, sharesGroup);
  const pending: NodeJS.Signals[] = [];
  let hasBegun = false;
  return {
    ended: hasEnded(),

    forward(signal) {
      // Until then only the processes that confine it are there, and they never pass a signal on.
      if (!hasBegun) pending.push(signal);
      else if (!(sharesGroup && keys.includes(signal) && isInFront())) sendToAll(signal);
    },
  };

  function sendToAll(signal: NodeJS.Signals): void {
    const pids = sharesGroup ? marked(mark).map(({ pid }) => pid) : [-child.pid];
    for (const pid of pids) sendSignal(pid, signal);
  }

  async function hasEnded(): Promise<ExitStatus> {
    const message = await complaint;
    hasBegun = true;
    // Keys of the terminal too: they were pressed before the command could get them.
    pending.forEach(sendToAll);
    await child.exited;
    const failed = failedStep(message);
    if (failed !== undefined) throw whyNotBegun(line, failed);
    return statusOf(child);
  }
}

function spawn(
  line: ProgramLine,
  { argv, cwd, env, descriptors, complaints, release }: Confined,
  sharesGroup: boolean,
) {
  try {
    const stdio = ["inherit", "inherit", "inherit", ...descriptors] as const;
    const child = Bun.spawn([...argv], { cwd, env, detached: !sharesGroup, stdio: [...stdio] });
    return { process: child, complaint: complaints === undefined ? Promise.resolve("") : readToEnd(complaints) };
  } catch (error) {
    closePipe(complaints);
    release();
    throw whyNotStarted(line, errnoOf(error) ?? messageOf(error));
  }
}

/** The pipe ends when the program begins, or when no process is left that could begin it. */
async function readToEnd(pipe: Pipe): Promise<string> {
  let text = "";
  await drain(readerOf(pipe), (bytes) => void (text += Buffer.from(bytes).toString("latin1"))).done;
  return text;
}

function whyNotBegun(line: ProgramLine, { step, errno }: { step: string; errno: number }): KodaError {
  if (step !== "execve")
    return new KodaError("sandbox", `Cannot confine "${line.join(" ")}": ${step} failed, errno ${errno}`);
  return whyNotStarted(line, errnoName(errno));
}

/** It was there when koda looked; commands may see less, and the kernel sees more. */
function whyNotStarted(line: ProgramLine, errno: string): CannotStart {
  return cannotStart(line, reasons[errno] ?? errno, { shellExit: errno === "ENOENT" ? 127 : 126 });
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "commands find no such program, or not the interpreter that it names",
  EACCES: "commands may not execute it",
  ENOEXEC: "it is neither a program for this machine nor a script whose first line names an interpreter",
};

function isInFront(): boolean {
  const terminal = terminalOf(process.pid);
  return terminal !== undefined && terminal.inFront === terminal.group;
}
