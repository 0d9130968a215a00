import { unlessAborted } from "../async/unlessaborted.ts";
import type { HookConfig } from "../config/config.ts";
import { formatDuration } from "../config/units.ts";
import { KodaError } from "../errors.ts";
import { createCapture, type KeptStream } from "../shell/capture.ts";
import type { Ended } from "../shell/job.ts";
import type { PipedProgram } from "../shell/piped.ts";
import type { OpenOptions, Shell } from "../shell/shell.ts";
import { signalBehind } from "../shell/summary.ts";
import { type HookDecision, isEnding, readDecision } from "./decision.ts";

/** The end of a hook: its decision, or the problem with it. */
export type HookEnd = (HookDecision | { failed: string }) & { leftBehind?: true };

type HookContext = Pick<OpenOptions, "env" | "policy"> & { shell: Shell };

/** A decision is small; whatever prints more than this is stopped. */
const mostPrinted = 1024 * 1024;

/** A hook that does not end when it is stopped is abandoned after this time. */
const graceMs = 2_000;

/** The exit code of a denial, whose reason is on stderr. */
const denial = 2;

/** Runs one hook to its end. Throws only when it was stopped by the signal. */
export async function runHook(
  hook: HookConfig,
  input: object,
  { shell, ...context }: HookContext,
  signal: AbortSignal,
): Promise<HookEnd> {
  signal.throwIfAborted();
  const [stdout, stderr] = [createCapture(), createCapture()];
  const options = { ...context, stderr: stderr.add, timeoutMs: hook.timeoutMs, signal };
  let program: PipedProgram;
  try {
    program = shell.open(hook.command, options);
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    return { failed: error.message };
  }
  const work = Promise.all([program.ended, feed(program, input), collect(program, stdout.add)]);
  const [ended] = await unlessAborted(work, signal, { graceMs });
  signal.throwIfAborted();
  const end = endOf(hook, ended, { stdout: stdout.kept(), stderr: textOf(stderr.kept()) });
  return ended.leftBehind ? { ...end, leftBehind: true } : end;
}

/** A hook need not read its input. */
async function feed({ stdin }: PipedProgram, input: object): Promise<void> {
  await stdin.write(`${JSON.stringify(input)}\n`);
  await stdin.close();
}

async function collect({ stdout, stop }: PipedProgram, add: (piece: Uint8Array) => void): Promise<void> {
  let total = 0;
  for await (const piece of stdout) {
    add(piece);
    total += piece.length;
    if (total > mostPrinted) {
      await stop();
      return;
    }
  }
}

type Output = { stdout: KeptStream; stderr: string };

function endOf({ on, timeoutMs }: HookConfig, ended: Ended, { stdout, stderr }: Output): HookEnd {
  const { exitCode, stopped } = ended;
  const signal = signalBehind(ended);
  if (stdout.totalBytes > mostPrinted) return { failed: "it printed more than 1 MiB" };
  if (stopped === "timeout") return { failed: `it took longer than ${formatDuration(timeoutMs)}` };
  if (signal !== undefined) return { failed: withLastLine(`it was killed by ${signal}`, stderr) };
  if (exitCode === denial && !isEnding(on)) return { denied: stderr };
  if (exitCode !== 0) return { failed: withLastLine(`it exited with ${exitCode}`, stderr) };
  const decision = readDecision(textOf(stdout), on);
  return typeof decision === "string" ? { failed: decision } : decision;
}

function textOf({ head, tail }: KeptStream): string {
  return Buffer.concat([head, tail]).toString("utf8");
}

const longestLine = 300;

function withLastLine(problem: string, stderr: string): string {
  const line = stderr.trimEnd().split("\n").at(-1)?.trim() ?? "";
  return line === "" ? problem : `${problem}: ${line.slice(0, longestLine).toWellFormed()}`;
}
