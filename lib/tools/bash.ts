import { KodaError } from "../errors.ts";
import { failedStep, setupFailed } from "../sandbox/assembly/failure.ts";
import { createCapture } from "../shell/capture.ts";
import { LiveOutput } from "../shell/live.ts";
import { explain } from "../shell/reasons.ts";
import { signalBehind, summarize, type Output } from "../shell/summary.ts";
import type { Ended } from "../shell/job.ts";
import type { Claim } from "../trust/claim.ts";
import about from "./bash.md" with { type: "text" };
import { failed, inputOf, succeeded, type ClaimContext, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

type Input = { command: string; timeout?: number; background?: boolean; description?: string };

const input = inputOf(
  {
    command: { type: "string" },
    timeout: { type: "number", description: "whole seconds, 60 when absent" },
    background: { type: "boolean", description: "return at once with a task id" },
    description: { type: "string", description: "what it is for, in a few words" },
  },
  ["command"],
);

export const bashTool = {
  name: "Bash",
  about,
  input,
  claim,
  again: ["read"],
  isGuarded: true,
  run,
} satisfies Tool<Input>;

const defaultSeconds = 60;

/**
 * Judges the command by its grammar (loaded here: it is large, and many a run asks for no command). Unless it
 * only reads it runs alone, after what was asked for before it: commands depend on each other in ways no path tells.
 */
async function claim({ command }: Input, { policy, shell }: Pick<ClaimContext, "policy" | "shell">): Promise<Claim> {
  const { classifyCommand } = await import("../trust/command.ts");
  return classifyCommand(command, { ...policy, confined: shell.confined });
}

type Context = Pick<
  ToolContext,
  "call" | "signal" | "policy" | "shell" | "variables" | "tasks" | "outputs" | "refusals" | "report"
>;

/** The context of a command that is waited for. */
type Running = Omit<Context, "tasks">;

async function run(input: Input, context: Context): Promise<ToolResult> {
  context.signal.throwIfAborted();
  const limit = limitOf(input.timeout, context.shell.maxSeconds);
  if (limit === undefined) return failed("timeout 0 would end the command before it starts: give at least 1 second.");
  try {
    return input.background === true ? inBackground(input, context) : await runCommand(input.command, limit, context);
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    // The model can fix a command that cannot be started, and has to know what the sandbox refuses.
    if (error.code === "config") return failed(error.message);
    if (error.code === "sandbox") return { ...failed(error.message), denied: error.message, confined: false };
    throw error;
  }
}

type Limit = { seconds: number; notes: readonly string[] };

/** How long it may take, and what is to be said when that is not what was asked for. Zero is nothing to go by. */
function limitOf(timeout: number | undefined, maxSeconds: number): Limit | undefined {
  const usual = Math.min(defaultSeconds, maxSeconds);
  if (timeout === undefined) return { seconds: usual, notes: [] };
  if (timeout === 0) return undefined;
  if (timeout < 0) return { seconds: usual, notes: [`timeout ${timeout} is not a time: ${usual} s was used`] };
  if (timeout > maxSeconds) {
    return { seconds: maxSeconds, notes: [`timeout ${timeout} was cut to ${maxSeconds} s, the most there is here`] };
  }
  const seconds = Math.ceil(timeout);
  return {
    seconds,
    notes: seconds === timeout ? [] : [`timeout ${timeout} was taken as ${seconds} s: whole seconds only`],
  };
}

/** Runs a command to its end. Throws a KodaError when it cannot be started. */
export async function runCommand(command: string, { seconds, notes }: Limit, context: Running): Promise<ToolResult> {
  const { shell, policy, signal, variables } = context;
  const [stdout, stderr] = [watched("stdout", context), watched("stderr", context)];
  const running = shell.start(command, {
    stdout: stdout.add,
    stderr: stderr.add,
    env: variables(),
    policy,
    timeoutMs: seconds * 1000,
    signal,
  });
  const ended = await running.ended;
  const output = { stdout: stdout.end(), stderr: stderr.end() };
  const why = whyRefused(ended, { command, output }, context);
  const remarks = [...notes, ...remarksOn(ended, seconds), ...(why === undefined ? [] : [why])];
  const result = resultOf(ended, output, { notes: remarks, context });
  // A refused host is an event of its own.
  return why?.startsWith("sandbox: ") ? { ...result, hint: why } : result;
}

/** A program's own message about a refusal seldom says who refused, and never what would allow it. */
function whyRefused({ exitCode }: Ended, { command, output }: CommandRun, context: Running): string | undefined {
  if (!context.shell.confined || exitCode === 0) return undefined;
  const { stdout, stderr } = output;
  const refusal = context.refusals.lastOf(context.call);
  const { head, tail } = stderr.totalBytes > 0 ? stderr : stdout;
  const said = Buffer.concat([head, tail]).toString("utf8");
  const reason = explain({ command, output: said, exitCode, policy: context.policy, refusal });
  return reason ?? (refusal && `egress: ${refusal.host}:${refusal.port} was refused: ${refusal.reason}`);
}

type CommandRun = { command: string; output: Output };

/** A stream that is both kept and shown as it comes. */
function watched(name: "stdout" | "stderr", { report }: Running) {
  const capture = createCapture();
  const live = new LiveOutput((text) => report(name, text));
  return {
    add(bytes: Uint8Array) {
      capture.add(bytes);
      live.add(bytes);
    },
    end() {
      live.end();
      return capture.kept();
    },
  };
}

function remarksOn({ stopped, leftBehind }: Ended, seconds: number): string[] {
  if (stopped === "timeout") return [`timed out after ${seconds} s`];
  if (leftBehind) return ["processes that it left running were stopped: set background to keep one"];
  return [];
}

type ResultContext = { notes: readonly string[]; context: Running };

function resultOf(ended: Ended, output: Output, { notes, context }: ResultContext): ToolResult {
  let stored: string | undefined;
  const text = summarize(ended, output, { notes, storeAll: () => (stored = store(output, context)) });
  const signal = signalBehind(ended);
  return {
    confined: !isRefusal(ended, output),
    ok: ended.exitCode === 0 && ended.stopped === undefined,
    parts: [{ type: "text", text }],
    exitCode: ended.exitCode,
    ...(signal !== undefined && { signal }),
    ...(ended.stopped === "timeout" && { timedOut: true }),
    ...(stored !== undefined && { output: stored }),
  };
}

/** The program that confines a command says when it cannot, in a way that no command says it by accident. */
function isRefusal({ exitCode }: Ended, { stderr }: Output): boolean {
  return exitCode === setupFailed && failedStep(Buffer.from(stderr.head).toString("latin1")) !== undefined;
}

function inBackground({ command, timeout }: Input, { call, policy, variables, tasks, outputs }: Context): ToolResult {
  const output = outputs.reserve();
  const { id } = tasks.start(command, {
    output,
    env: variables(),
    policy,
    save: (stdout, stderr) => outputs.save({ id: output, call, stdout, stderr }),
  });
  const remark = timeout === undefined ? "" : "\ntimeout does not apply in the background";
  const text = `${id} runs in the background: TaskOutput {"id":"${id}"} shows what it prints, TaskStop ends it.${remark}`;
  return { ...succeeded(text), output };
}

function store({ stdout, stderr }: Output, { call, outputs }: Pick<Context, "call" | "outputs">): string {
  const id = outputs.reserve();
  outputs.save({ id, call, stdout, stderr });
  return id;
}
