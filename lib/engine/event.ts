import { z } from "zod";
import type { Mailbox } from "../async/mailbox.ts";
import { modes, networks, wires } from "../config/config.ts";
import { exitByCode } from "../errors.ts";
import { todoStates } from "../session/todo.ts";
import { elicitationDecisions } from "../tools/elicitation.ts";
import { effects } from "../trust/claim.ts";
import { approvalDecisions } from "../trust/approvaldecision.ts";
import { executableKinds } from "../worktree/executable.ts";

/**
 * The events that `--output jsonl` prints: the one source of both the types and the JSON Schema of
 * `--print-schema`. Only those two import this file's values; everyone else imports types, so a run never loads zod
 * for it. Version 1: fields may be added, never renamed, and readers ignore types that they do not know. The
 * descriptions are a part of that schema, and docs/events.md is made of them.
 */
const count = z.int().nonnegative();
const figures = z.strictObject({
  input: count.nullable().describe("Tokens of the input"),
  cached: count.nullable().describe("The part of `input` that was read from the provider's prompt cache"),
  written: z
    .exactOptional(count)
    .describe("The part of `input` that was written to that cache; absent when it is not reported"),
  output: count.nullable().describe("Tokens of the output"),
  reasoning: count.nullable().describe("The part of `output` that was thinking"),
});
const effect = z.enum(effects).describe("What the call may do: only read, write, reach others, or destroy");
const failure = z.strictObject({
  code: z.enum(Object.keys(exitByCode) as [keyof typeof exitByCode]).describe("The kind of failure, for scripts"),
  message: z.string().describe("The failure in words, with what to do"),
  retryable: z.boolean().describe("Whether the same request may work later"),
  http_status: count.optional().describe("The status of the provider's response"),
  retry_at: z.iso.datetime().optional().describe("When the limit that was reached resets, if the provider says so"),
});

const server = z.strictObject({
  name: z.string().describe("The name of the MCP server"),
  status: z.enum(["connected", "connecting", "failed", "disabled"]).describe("Its state"),
  error: z.string().optional().describe("Why it failed"),
});

const start = z
  .strictObject({
    type: z.literal("session.start"),
    session: z.string().describe("The id of the session"),
    root: z
      .string()
      .describe("The first session of its line of forks and agents; the same as `session` when it is neither"),
    parent: z
      .string()
      .optional()
      .describe("The session that it was forked from, or that of the conversation that started the agent"),
    title: z.string().describe("The session's title, from its first prompt"),
    source: z.enum(["new", "resume", "fork", "agent"]).describe("How the session began"),
    resumed: z.boolean().describe("Whether items were recorded before: its own, or those it was forked from"),
    version: z.string().describe("The version of koda"),
    model: z.string().describe("The model's name at the provider"),
    provider: z.string().describe("The provider's name"),
    wire: z.enum(wires).describe("The protocol"),
    effort: z
      .enum(["low", "medium", "high"])
      .optional()
      .describe("The reasoning effort that is sent; absent when the provider decides"),
    base_url: z
      .string()
      .nullable()
      .describe("The provider's address, without a query; null when none is asked: for the demo and for a replay"),
    cwd: z.string().describe("The project's root"),
    mode: z.enum(modes).describe("The calls that may run without approval"),
    agent: z.string().optional().describe("The agent that the run is (`--agent`)"),
    sandbox: z
      .strictObject({
        backend: z.string().describe("`namespaces`, `bwrap`, `landlock` or `none`"),
        filesystem: z.string().describe("`confined`, `open`, or `no commands` where none can run"),
        network: z.string().describe("`proxies`, `none`, `open` or `no commands`"),
        notes: z.array(z.string()).describe("What this sandbox cannot guarantee, and why a stronger one is missing"),
      })
      .describe("How commands are confined"),
    egress: z
      .strictObject({
        mode: z.enum(networks).describe("`--net`"),
        http_port: count.nullable().describe("The port of the HTTP proxy; null without one"),
        socks_port: count.nullable().describe("The port of the SOCKS5 proxy; null without one"),
        allow: z.array(z.string()).describe("Hosts that are allowed"),
        deny: z.array(z.string()).describe("Hosts that are denied"),
      })
      .describe("The hosts that commands may reach"),
    tools: z.array(z.string()).describe("The names of the tools that the model is offered"),
    mcp: z.array(server).describe("The MCP servers"),
    instructions: z.array(z.string()).describe("Files whose text was given to the model"),
    skills: z.array(z.string()).describe("The names of the skills that the model can load"),
    plugins: z
      .array(z.strictObject({ name: z.string(), version: z.string(), revision: z.string() }))
      .describe("The plugins in use; the revision differs when any of a plugin's files has changed"),
    skipped: z.array(z.string()).describe("Settings and files of the project that were ignored"),
    limits: z.record(z.string(), z.number()).describe("The limits of the run; the names tell the units"),
  })
  .describe("Always the first event of a session");

const turnStart = z
  .strictObject({ type: z.literal("turn.start"), turn: count.describe("The number of the turn, from 1") })
  .describe("A turn begins: from a prompt to its answer");
const turnEnd = z
  .strictObject({
    type: z.literal("turn.end"),
    turn: count.describe("The number of the turn"),
    reason: z.enum(["complete", "cancelled", "limit", "error"]).describe("Why it ended"),
    error: failure.optional().describe("The failure, when it did not complete"),
  })
  .describe("The turn is over");

const textDelta = z
  .strictObject({ type: z.literal("text.delta"), text: z.string().describe("The next piece") })
  .describe("The model's text, as it comes");
const textDone = z
  .strictObject({ type: z.literal("text.done"), text: z.string().describe("All of the reply's text") })
  .describe("The text of a reply is complete");
const thinkingDelta = z
  .strictObject({ type: z.literal("thinking.delta"), text: z.string().describe("The next piece") })
  .describe("The model's thinking, as far as the provider shows it");

const stream = z.enum(["stdout", "stderr"]).describe("Where it was written");
const written = z.string().describe("The next piece");

const toolStart = z
  .strictObject({
    type: z.literal("tool.start"),
    id: z.string().describe("The id of the call"),
    tool: z.string().describe("The name of the tool"),
    input: z.unknown().describe("The arguments; a string when they were not JSON"),
    effect,
  })
  .describe("A call begins");
const toolOutput = z
  .strictObject({
    type: z.literal("tool.output"),
    id: z.string().describe("The id of the call"),
    stream,
    text: written,
  })
  .describe("Output of a command, as it comes");
/** The end of a command or of another call. */
const ending = {
  exit_code: z.int().optional().describe("The exit code of the command"),
  signal: z.string().optional().describe("The signal that ended it"),
  timed_out: z.boolean().optional().describe("Whether it was stopped at its time limit"),
  duration_ms: z.number().nonnegative().describe("How long it took"),
  hint: z.string().optional().describe("The reason why the sandbox made a command fail, with the flag that allows it"),
  summary: z.string().describe("The result as the model saw it"),
  output_id: z.string().optional().describe("The stored output, for `RecallContext` and `koda session show`"),
};
const toolEnd = z
  .strictObject({
    type: z.literal("tool.end"),
    id: z.string().describe("The id of the call"),
    tool: z.string().describe("The name of the tool"),
    ok: z.boolean().describe("Whether it worked; a command that exits with another code than 0 has failed"),
    denied: z.string().optional().describe("The rule that refused the call"),
    ...ending,
  })
  .describe("A call is over; every `tool.start` has one");

const attempt = count.describe("The number of the attempt, from 1");
const verifyStart = z
  .strictObject({
    type: z.literal("verify.start"),
    attempt,
    max: count.describe("`--verify-attempts`"),
    command: z.string().describe("The command"),
  })
  .describe("The command of `--verify` begins; it is no call of the model's");
const verifyOutput = z
  .strictObject({ type: z.literal("verify.output"), attempt, stream, text: written })
  .describe("Output of that command, as it comes");
const verifyEnd = z
  .strictObject({
    type: z.literal("verify.end"),
    attempt,
    passed: z.boolean().describe("Whether it exited with 0"),
    ...ending,
  })
  .describe("That command is over");

const shellId = z.string().describe("The id of the submission");
const shellStart = z
  .strictObject({ type: z.literal("shell.start"), id: shellId, command: z.string().describe("The command") })
  .describe("A command of the user's begins in a chat; it is no call of the model's");
const shellOutput = z
  .strictObject({ type: z.literal("shell.output"), id: shellId, stream, text: written })
  .describe("Output of that command, as it comes");
const shellEnd = z
  .strictObject({ type: z.literal("shell.end"), id: shellId, ...ending })
  .describe("That command is over");

const approvalRequest = z
  .strictObject({
    type: z.literal("approval.request"),
    id: z.string().describe("The id of the call; that of the question when it is about a host"),
    tool: z.string().describe("The name of the tool; `network` when the question is about a host"),
    input: z.unknown().describe("The arguments of the call"),
    host: z.exactOptional(z.string()).describe("The host that a call wants to connect to"),
    port: z.exactOptional(z.int()).describe("Its port"),
    call: z.exactOptional(z.string()).describe("The id of that call, or of the user's own command"),
    effect,
    rule: z.string().describe("The rule by which it may not run without approval"),
    cwd: z.string().describe("The project's root"),
    preview: z.string().optional().describe("The change that the call would make, when its input does not show it"),
    prefix: z
      .string()
      .optional()
      .describe("The start of the command that the decision `prefix` would allow from now on"),
    decisions: z.array(z.enum(approvalDecisions)).describe("The decisions that are possible"),
  })
  .describe("A question to the user: may this call run, or may this host be reached? Only in a chat");
const approvalDecision = z
  .strictObject({
    type: z.literal("approval.decision"),
    id: z.string().describe("The id of the question"),
    decision: z.enum(approvalDecisions).describe("The decision"),
    feedback: z.string().optional().describe("The user's words for the model"),
  })
  .describe("A question about a call or a host was decided");

const question = z
  .strictObject({
    type: z.literal("question"),
    id: z.string().describe("The id of the question"),
    question: z.string().describe("The question"),
    options: z.array(z.string()).describe("Possible answers; another text is an answer too"),
  })
  .describe("A question to the user, of the model's or at a limit. Only in a chat");
const questionEnd = z
  .strictObject({
    type: z.literal("question.end"),
    id: z.string().describe("The id of the question"),
    answer: z.string().optional().describe("The answer; absent when there was none"),
  })
  .describe("The question was answered, or withdrawn");

const elicitationRequest = z
  .strictObject({
    type: z.literal("elicitation.request"),
    id: z.string().describe("The id by which `elicit` answers it"),
    server: z.string().describe("The name of the MCP server"),
    message: z.string().describe("The server's own words"),
    schema: z
      .exactOptional(z.record(z.string(), z.unknown()))
      .describe("The values that it asks for: a JSON Schema of a flat object"),
    url: z.exactOptional(z.string()).describe("The page that the user is to visit, in the place of values"),
    host: z.exactOptional(z.string()).describe("The host of that page, in ASCII"),
  })
  .describe("A question of an MCP server to the user, answered by `elicit`");
const elicitationDecision = z
  .strictObject({
    type: z.literal("elicitation.decision"),
    id: z.string().describe("That of the question"),
    decision: z.enum(elicitationDecisions).describe("`cancel` also when the call ended before there was an answer"),
  })
  .describe("The answer to it");

const limits = z.strictObject({
  windows: z
    .array(
      z.strictObject({
        name: z.string(),
        used_percent: z.number().nonnegative(),
        window_minutes: z.number().nonnegative().nullable(),
        resets_at: z.iso.datetime().nullable(),
      }),
    )
    .describe("How much of each window is used, and when it resets; null when the provider does not tell"),
  credits: z
    .strictObject({ has_credits: z.boolean(), unlimited: z.boolean(), balance: z.string().nullable() })
    .exactOptional()
    .describe("The account's credits"),
  plan: z.string().exactOptional().describe("The account's plan"),
});

const usage = z
  .strictObject({
    type: z.literal("usage"),
    request: figures.describe("Of this request; null is unknown"),
    turn: figures.describe("Of the turn so far"),
    session: figures.describe("Of the session so far"),
    context: z
      .strictObject({
        used: count.nullable().describe("Tokens of the conversation"),
        window: count.describe("Tokens that the model can take"),
      })
      .describe("How full the model's window is"),
    cost_usd: z.number().nonnegative().optional().describe("The cost of the run so far; absent when unknown"),
    limits: limits.optional().describe("The provider's own limits, as far as its headers tell them"),
  })
  .describe("After each reply; with unknown figures also after a refusal that told the provider's limits");
const retry = z
  .strictObject({
    type: z.literal("retry"),
    attempt: count.describe("The number of the retry, from 1"),
    max: count.describe("The most retries"),
    delay_ms: z.number().nonnegative().describe("The time until it"),
    code: z.string().describe("The kind of failure, as in `error.code`"),
    message: z.string().describe("A line for people"),
    reason: z.string().describe("The failure of the previous attempt"),
  })
  .describe("A request to the model failed, and is repeated");
const compact = z
  .strictObject({
    type: z.literal("compact"),
    kind: z
      .enum(["full", "micro"])
      .describe("`full`: the conversation was summarized; `micro`: old results were left out"),
    before_tokens: count.describe("The size of the conversation before"),
    after_tokens: count.describe("And after"),
  })
  .describe("The conversation now takes less of the model's window");
const diff = z
  .strictObject({
    type: z.literal("diff"),
    files: z
      .array(
        z.strictObject({
          path: z.string().describe("Relative to the project"),
          kind: z.enum(["add", "update", "delete"]).describe("What happened to it"),
          added: count.nullable().describe("Lines added; null for a binary file"),
          removed: count.nullable().describe("Lines removed; null for a binary file"),
        }),
      )
      .describe("The files that differ"),
    patch: z.string().describe("A patch for `git apply`"),
  })
  .describe("What the turn changed in the project");
const todo = z
  .strictObject({
    type: z.literal("todo"),
    items: z
      .array(
        z.strictObject({ text: z.string().describe("The step"), status: z.enum(todoStates).describe("Its state") }),
      )
      .describe("The whole list"),
  })
  .describe("The model changed its list of steps");
const egress = z
  .strictObject({
    type: z.literal("egress"),
    via: z
      .enum(["http", "socks", "fetch", "connect"])
      .describe(
        "`http` and `socks`: a proxy; `fetch`: a tool or an MCP server; `connect`: a system call past the proxies",
      ),
    host: z.string().describe("The host"),
    port: count.describe("The port"),
    verdict: z
      .enum(["allowed", "refused", "failed"])
      .describe("`refused`: the rules do not allow it; `failed`: the network did not"),
    reason: z.string().optional().describe("Why; absent when it was allowed"),
    tool: z.string().optional().describe("The id of the call that made the attempt, if known"),
  })
  .describe("An attempt to connect");
const notice = z
  .strictObject({
    type: z.literal("notice"),
    level: z.enum(["info", "warn", "error"]).describe("How important it is"),
    code: z.string().describe("The kind of notice, for scripts"),
    message: z.string().describe("The notice"),
  })
  .describe("Something that people should know");

const end = z
  .strictObject({
    type: z.literal("end"),
    status: z.enum(["done", "failed", "limit", "cancelled"]).describe("How the run ended"),
    exit: count.describe("The exit code of the process"),
    error: failure.optional().describe("The failure; absent when `status` is `done`"),
    incomplete: z
      .array(z.string())
      .optional()
      .describe("Why the answer may not be the end of the task, although the model stopped there"),
    session: z.string().nullable().describe("The session; null when the run failed before there was one"),
    text: z.string().describe("The answer"),
    output: z
      .unknown()
      .optional()
      .describe("The answer that matches `--output-schema`, or the findings of `koda review`"),
    usage: z
      .strictObject({
        ...figures.shape,
        cost_usd: z.number().nonnegative().optional().describe("The cost of the run; absent when unknown"),
      })
      .describe("Of the run, with its agents"),
    tools: z
      .strictObject({
        ok: count.describe("Calls that worked"),
        failed: count.describe("Calls that failed"),
        denied: count.describe("Calls that were denied"),
      })
      .describe("The calls of the run, each counted once"),
    files_changed: count.describe("The number of files that the run changed in the project"),
    executable_changes: z
      .array(z.strictObject({ path: z.string(), kind: z.enum(executableKinds) }))
      .describe(
        "Changed files that other programs run or obey: settings of editors and agents, hooks, workflows of CI services",
      ),
    agents: z
      .strictObject({
        ok: count.describe("Agents that finished"),
        failed: count.describe("Agents that failed"),
        cancelled: count.describe("Agents that were stopped"),
      })
      .optional()
      .describe("The agents that the run started; absent when there were none"),
    mcp: z.array(server).optional().describe("The MCP servers that were never connected; absent when there are none"),
    verify: z
      .strictObject({
        command: z.string().describe("The command"),
        passed: z.boolean().describe("Whether it passed"),
        attempts: count.describe("How often it ran: 0 when the turn ended without an answer to verify"),
      })
      .optional()
      .describe("The outcome of `--verify`"),
    duration_ms: z.number().nonnegative().describe("How long the run took"),
    resume: z
      .string()
      .nullable()
      .describe(
        "The command line that continues this session; after a complete turn it needs a prompt. Null when nothing was kept",
      ),
  })
  .describe("Always the last event, exactly once, whatever happens");

const agentEnd = z
  .strictObject({
    type: z.literal("end"),
    status: end.shape.status,
    error: end.shape.error,
    incomplete: end.shape.incomplete,
    session: z.string().describe("The session of the agent"),
    text: z.string().describe("The answer"),
    output: end.shape.output,
    usage: end.shape.usage,
    tools: end.shape.tools,
    duration_ms: end.shape.duration_ms,
  })
  .describe("The end of an agent; its changes are a part of the run's");

const ownEvents = [
  start,
  turnStart,
  turnEnd,
  textDelta,
  textDone,
  thinkingDelta,
  toolStart,
  toolOutput,
  toolEnd,
  verifyStart,
  verifyOutput,
  verifyEnd,
  usage,
  retry,
  compact,
  diff,
  todo,
  egress,
  notice,
] as const;

const agent = z
  .strictObject({
    type: z.literal("agent"),
    agent: z
      .strictObject({ id: z.string().describe("Its id in the run"), name: z.string().describe("Its definition") })
      .describe("The agent"),
    event: z.discriminatedUnion("type", [...ownEvents, agentEnd]).describe("Any of these events"),
  })
  .describe("An event of an agent that the model started: the first is its `session.start`, the last its `end`");

const accepted = z
  .strictObject({ type: z.literal("accepted"), submission: z.string().describe("The id of the submission") })
  .describe("A submission is stored: it has exactly one `reply`, if need be in a later process");
const rejected = z
  .strictObject({
    type: z.literal("rejected"),
    submission: z.string().optional().describe("Its id; absent when the line had none that could be read"),
    error: z
      .strictObject({ code: failure.shape.code, message: z.string().describe("What is wrong with it") })
      .describe("The reason"),
  })
  .describe("A submission that changes nothing");
const replied = z
  .strictObject({
    type: z.literal("reply"),
    submission: z.string().describe("The id of the submission"),
    status: end.shape.status,
    error: failure.optional().describe("The failure"),
    result: z.unknown().optional().describe("Depends on the `op` of the submission"),
  })
  .describe("The outcome of a submission");

const events = [
  ...ownEvents,
  agent,
  approvalRequest,
  approvalDecision,
  question,
  questionEnd,
  elicitationRequest,
  elicitationDecision,
  shellStart,
  shellOutput,
  shellEnd,
  accepted,
  rejected,
  replied,
  end,
] as const;

const eventSchema = z.discriminatedUnion("type", events);

export type Event = z.infer<typeof eventSchema>;
export type EventOf<T extends Event["type"]> = Extract<Event, { type: T }>;
export type Notice = EventOf<"notice">;
export type AgentEvent = EventOf<"agent">["event"];
export type Figures = z.infer<typeof figures>;

/** Events that no step of the loop yields itself: tool output, notices, connections. */
export type Events = Mailbox<Event>;

const envelope = {
  v: z.literal(1).describe("The version of the format"),
  seq: count.describe("The number of the line, from 0, without gaps"),
  at: z.iso.datetime().describe("When it was written"),
  submission: z.string().optional().describe("In a chat, the submission that began the turn"),
};

/** One line of `--output jsonl`: the envelope, then the fields of the event. */
export type Line = { v: 1; seq: number; at: string; submission?: string | undefined } & Event;

/** The compiler gives up on so large a union of shapes. */
const lineOf = (event: z.ZodObject): z.ZodType =>
  z.strictObject({ ...envelope, ...event.shape }).describe(event.description ?? "");

export const lineSchema = z.union(events.map(lineOf)) as z.ZodType<Line>;

/** The JSON Schema of a line, for `--print-schema`. */
export function lineJsonSchema(): unknown {
  return z.toJSONSchema(lineSchema, { target: "draft-2020-12" });
}
