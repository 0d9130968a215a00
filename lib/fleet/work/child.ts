import { z } from "zod";
import { errnoOf, reasonOf } from "../../errors.ts";
import { sendSignal } from "../../system/kill.ts";
import { AttemptFailure } from "./failure.ts";
import { linesFrom } from "./lines.ts";
import { kodaEnvironment, tailOf } from "./program.ts";
import type { Spending } from "../store.ts";

const count = z.number().nullable();
const usageSchema = z.object({
  turn: z.object({ input: count, output: count }),
  cost_usd: z.number().optional(),
});
const endSchema = z.looseObject({
  exit: z.number(),
  error: z.object({ code: z.string(), message: z.string(), retry_at: z.string().optional() }).optional(),
  usage: z.object({ input: count, output: count, cost_usd: z.number().optional() }),
  incomplete: z.array(z.string()).optional(),
  files_changed: z.number(),
});

const startSchema = z.object({ provider: z.string(), model: z.string() });

type RunEnd = z.infer<typeof endSchema>;

type ChildRun = {
  /** The words that start `koda`. */
  program: readonly string[];
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  prompt: string;
  signal: AbortSignal;
  /** Has its pid while it runs. */
  pids: Set<number>;
  /** After each reply of the model. */
  onUsage(spent: Spending): void;
};

/** `end` is absent when the run was killed or has crashed; `failure` says how then. */
export type ChildEnd = { spent: Spending; model?: string; end?: RunEnd; failure: string };

/** A run that was told to stop ends its commands, and says so; one that hangs is killed. */
const graceMs = 15_000;

/** Runs `koda exec --json` to its end, which comes soon after the signal, and follows its events. */
export async function runChild(run: ChildRun): Promise<ChildEnd> {
  const { signal, onUsage } = run;
  const child = start(run);
  run.pids.add(child.pid);
  let killer: Timer | undefined;
  const stop = () => {
    sendSignal(child.pid, "SIGTERM");
    // A stopped process gets it only when it continues.
    sendSignal(child.pid, "SIGCONT");
    killer = setTimeout(() => sendSignal(child.pid, "SIGKILL"), graceMs);
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    const complaints = tailOf(child.stderr);
    const followed = await follow(child.stdout, onUsage);
    await child.exited;
    return { ...followed, failure: failureOf(child, complaints.text()) };
  } finally {
    run.pids.delete(child.pid);
    signal.removeEventListener("abort", stop);
    clearTimeout(killer);
    // It goes on when its events could not be read.
    if (child.exitCode === null && child.signalCode === null) sendSignal(child.pid, "SIGKILL");
  }
}

function start({ program, args, env, prompt }: ChildRun) {
  try {
    return Bun.spawn([...program, "exec", "--json", ...args], {
      env: kodaEnvironment(env),
      stdin: new TextEncoder().encode(prompt),
      stdout: "pipe",
      stderr: "pipe",
      // Of its own, so that a Ctrl-C is the worker's to pass on.
      detached: true,
    });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    const isTooLong = errnoOf(error) === "E2BIG";
    throw new AttemptFailure(
      isTooLong ? "usage" : "machine",
      `Cannot start "${program[0]}": ${reasonOf(error)}`,
      error,
    );
  }
}

/** The type stands behind the number and the time of the line. */
const wanted = /^\{"v":1,"seq":\d+,"at":"[^"]*","type":"(session\.start|usage|end)"/;

async function follow(stdout: ReadableStream<Uint8Array>, onUsage: ChildRun["onUsage"]) {
  let spent: Spending = { costUsd: 0, tokens: 0 };
  let end: RunEnd | undefined;
  let used: string | undefined;
  for await (const line of linesFrom(stdout)) {
    const type = wanted.exec(line)?.[1];
    if (type === undefined) continue;
    if (type === "session.start") {
      const { provider, model } = startSchema.parse(JSON.parse(line));
      used = `${provider}/${model}`;
      continue;
    }
    if (type === "usage") {
      const { turn, cost_usd } = usageSchema.parse(JSON.parse(line));
      spent = spentBy(tokensOf(turn), cost_usd, spent);
      onUsage(spent);
      continue;
    }
    end = endSchema.parse(JSON.parse(line));
    spent = spentBy(Math.max(tokensOf(end.usage), spent.tokens), end.usage.cost_usd, spent);
  }
  return { spent, ...(used !== undefined && { model: used }), ...(end && { end }) };
}

/** A cost that is not told is not known. */
function spentBy(tokens: number, costUsd: number | undefined, before: Spending): Spending {
  return { costUsd: costUsd ?? before.costUsd, tokens, isUnpriced: costUsd === undefined && tokens > 0 };
}

function tokensOf({ input, output }: { input: number | null; output: number | null }): number {
  return Math.min((input ?? 0) + (output ?? 0), mostTokens);
}

/** No provider counts as many, but one may say so: the sums of a batch have to stay exact. */
const mostTokens = 1e12;

function failureOf(
  { signalCode, exitCode }: { signalCode: string | number | null; exitCode: number | null },
  said: string,
) {
  const how = signalCode === null ? `ended with ${exitCode} and no end event` : `was killed by ${signalCode}`;
  // Nothing that it said before is about that.
  if (signalCode === "SIGKILL") return `koda exec ${how}, perhaps for lack of memory`;
  const last = said.trim().split("\n").slice(-3).join("\n");
  return `koda exec ${how}${last === "" ? "" : `: ${last}`}`;
}
