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
 * for it. Version 1: fields may be added, never renamed, and readers ignore types that they do not know.
 */
const count = z.int().nonnegative();
const figures = z.strictObject({
  input: count.nullable(),
  cached: count.nullable(),
  /** The part of `input` that was written to the provider's prompt cache; absent when that is not reported. */
  written: z.exactOptional(count),
  output: count.nullable(),
  reasoning: count.nullable(),
});
const effect = z.enum(effects);
const failure = z.strictObject({
  code: z.enum(Object.keys(exitByCode) as [keyof typeof exitByCode]),
  message: z.string(),
  retryable: z.boolean(),
  http_status: count.optional(),
  /** When the limit that was reached resets, as far as the provider says. */
  retry_at: z.iso.datetime().optional(),
});

/** An MCP server. */
const server = z.strictObject({
  name: z.string(),
  status: z.enum(["connected", "connecting", "failed", "disabled"]),
  error: z.string().optional(),
});

const start = z.strictObject({
  type: z.literal("session.start"),
  session: z.string(),
  /** The first session of its line of forks and agents; the same as `session` when it is neither. */
  root: z.string(),
  /** The session that it was forked from, or that of the conversation that started the agent. */
  parent: z.string().optional(),
  /** From the first prompt of the session. */
  title: z.string(),
  source: z.enum(["new", "resume", "fork", "agent"]),
  resumed: z.boolean(),
  version: z.string(),
  model: z.string(),
  provider: z.string(),
  wire: z.enum(wires),
  /** The reasoning effort that is sent; absent when the provider decides. */
  effort: z.enum(["low", "medium", "high"]).optional(),
  /** The provider's address, without a query; null when none is asked: for the demo and for a replay. */
  base_url: z.string().nullable(),
  cwd: z.string(),
  mode: z.enum(modes),
  /** The agent that the run is (`--agent`). */
  agent: z.string().optional(),
  sandbox: z.strictObject({
    backend: z.string(),
    filesystem: z.string(),
    network: z.string(),
    notes: z.array(z.string()),
  }),
  egress: z.strictObject({
    mode: z.enum(networks),
    http_port: count.nullable(),
    socks_port: count.nullable(),
    allow: z.array(z.string()),
    deny: z.array(z.string()),
  }),
  tools: z.array(z.string()),
  mcp: z.array(server),
  /** Files whose text was given to the model. */
  instructions: z.array(z.string()),
  /** The names of the skills that the model can load. */
  skills: z.array(z.string()),
  /** A plugin's revision differs when any of its files has changed. */
  plugins: z.array(z.strictObject({ name: z.string(), version: z.string(), revision: z.string() })),
  /** Settings and files of the project that were ignored. */
  skipped: z.array(z.string()),
  limits: z.record(z.string(), z.number()),
});

const turnStart = z.strictObject({ type: z.literal("turn.start"), turn: count });
const turnEnd = z.strictObject({
  type: z.literal("turn.end"),
  turn: count,
  reason: z.enum(["complete", "cancelled", "limit", "error"]),
  error: failure.optional(),
});

const textDelta = z.strictObject({ type: z.literal("text.delta"), text: z.string() });
const textDone = z.strictObject({ type: z.literal("text.done"), text: z.string() });
const thinkingDelta = z.strictObject({ type: z.literal("thinking.delta"), text: z.string() });

const toolStart = z.strictObject({
  type: z.literal("tool.start"),
  id: z.string(),
  tool: z.string(),
  /** The arguments; a string when they were not JSON. */
  input: z.unknown(),
  effect,
});
const toolOutput = z.strictObject({
  type: z.literal("tool.output"),
  id: z.string(),
  stream: z.enum(["stdout", "stderr"]),
  text: z.string(),
});
/** The end of a command or of another call. */
const ending = {
  exit_code: z.int().optional(),
  signal: z.string().optional(),
  timed_out: z.boolean().optional(),
  duration_ms: z.number().nonnegative(),
  /** The reason why the sandbox made a command fail, with the flag that allows it. */
  hint: z.string().optional(),
  /** The result as the model saw it. */
  summary: z.string(),
  output_id: z.string().optional(),
};
const toolEnd = z.strictObject({
  type: z.literal("tool.end"),
  id: z.string(),
  tool: z.string(),
  ok: z.boolean(),
  /** The rule that refused the call. */
  denied: z.string().optional(),
  ...ending,
});

/** A run of the user's command of `--verify`, which is no call of the model's. */
const verifyStart = z.strictObject({
  type: z.literal("verify.start"),
  attempt: count,
  max: count,
  command: z.string(),
});
const verifyOutput = z.strictObject({
  type: z.literal("verify.output"),
  attempt: count,
  stream: z.enum(["stdout", "stderr"]),
  text: z.string(),
});
const verifyEnd = z.strictObject({
  type: z.literal("verify.end"),
  attempt: count,
  passed: z.boolean(),
  ...ending,
});

/** A command of the user's in a chat, which is no call of the model's; `id` is that of its submission. */
const shellStart = z.strictObject({ type: z.literal("shell.start"), id: z.string(), command: z.string() });
const shellOutput = z.strictObject({
  type: z.literal("shell.output"),
  id: z.string(),
  stream: z.enum(["stdout", "stderr"]),
  text: z.string(),
});
const shellEnd = z.strictObject({ type: z.literal("shell.end"), id: z.string(), ...ending });

/** A question to the user: may this call run? Or, with the tool `network`: may this host be reached? */
const approvalRequest = z.strictObject({
  type: z.literal("approval.request"),
  /** The id of the call; that of the question where it is about a host. */
  id: z.string(),
  tool: z.string(),
  input: z.unknown(),
  /** The host that a call wants to connect to, an address without brackets, and its port. */
  host: z.exactOptional(z.string()),
  port: z.exactOptional(z.int()),
  /** The id of that call, or of the user's own command. */
  call: z.exactOptional(z.string()),
  effect,
  /** The rule by which it may not run without approval. */
  rule: z.string(),
  cwd: z.string(),
  /** The change that the call would make, where its input does not show it. */
  preview: z.string().optional(),
  /** The start of the command that `prefix` would allow from now on. */
  prefix: z.string().optional(),
  decisions: z.array(z.enum(approvalDecisions)),
});
const approvalDecision = z.strictObject({
  type: z.literal("approval.decision"),
  id: z.string(),
  decision: z.enum(approvalDecisions),
  feedback: z.string().optional(),
});

/** A question to the user, of the model's or at a limit: `answer` takes the number of an option, or any text. */
const question = z.strictObject({
  type: z.literal("question"),
  id: z.string(),
  question: z.string(),
  options: z.array(z.string()),
});
/** `answer` is absent when there was none. */
const questionEnd = z.strictObject({ type: z.literal("question.end"), id: z.string(), answer: z.string().optional() });

/** A question of an MCP server to the user, answered by `elicit`: values that match `schema`, or a page to visit. */
const elicitationRequest = z.strictObject({
  type: z.literal("elicitation.request"),
  id: z.string(),
  server: z.string(),
  /** The server's own words. */
  message: z.string(),
  /** A flat object. */
  schema: z.exactOptional(z.record(z.string(), z.unknown())),
  url: z.exactOptional(z.string()),
  /** That of the URL, in ASCII. */
  host: z.exactOptional(z.string()),
});
/** `cancel` also when the call ended before there was an answer. */
const elicitationDecision = z.strictObject({
  type: z.literal("elicitation.decision"),
  id: z.string(),
  decision: z.enum(elicitationDecisions),
});

/** The provider's own limits; `window_minutes` and `resets_at` are null when it does not tell them. */
const limits = z.strictObject({
  windows: z.array(
    z.strictObject({
      name: z.string(),
      used_percent: z.number().nonnegative(),
      window_minutes: z.number().nonnegative().nullable(),
      resets_at: z.iso.datetime().nullable(),
    }),
  ),
  credits: z
    .strictObject({ has_credits: z.boolean(), unlimited: z.boolean(), balance: z.string().nullable() })
    .exactOptional(),
  plan: z.string().exactOptional(),
});

/** After each reply; with unknown figures of the request also after a refusal that told the provider's limits. */
const usage = z.strictObject({
  type: z.literal("usage"),
  request: figures,
  turn: figures,
  session: figures,
  context: z.strictObject({ used: count.nullable(), window: count }),
  cost_usd: z.number().nonnegative().optional(),
  limits: limits.optional(),
});
const retry = z.strictObject({
  type: z.literal("retry"),
  attempt: count,
  max: count,
  delay_ms: z.number().nonnegative(),
  code: z.string(),
  message: z.string(),
  /** The failure of the previous attempt. */
  reason: z.string(),
});
/** The conversation takes less of the model's window: it was summarized, or old results were left out. */
const compact = z.strictObject({
  type: z.literal("compact"),
  kind: z.enum(["full", "micro"]),
  before_tokens: count,
  after_tokens: count,
});
const diff = z.strictObject({
  type: z.literal("diff"),
  files: z.array(
    z.strictObject({
      path: z.string(),
      kind: z.enum(["add", "update", "delete"]),
      /** Null for a binary file. */
      added: count.nullable(),
      removed: count.nullable(),
    }),
  ),
  patch: z.string(),
});
const todo = z.strictObject({
  type: z.literal("todo"),
  items: z.array(z.strictObject({ text: z.string(), status: z.enum(todoStates) })),
});
/** An attempt to connect: `refused` by the rules, or `failed` in the network. */
const egress = z.strictObject({
  type: z.literal("egress"),
  via: z.enum(["http", "socks", "fetch", "connect"]),
  host: z.string(),
  port: count,
  verdict: z.enum(["allowed", "refused", "failed"]),
  /** Absent when the attempt was allowed. */
  reason: z.string().optional(),
  /** The id of the call that made the attempt, if known. */
  tool: z.string().optional(),
});
const notice = z.strictObject({
  type: z.literal("notice"),
  level: z.enum(["info", "warn", "error"]),
  code: z.string(),
  message: z.string(),
});

const end = z.strictObject({
  type: z.literal("end"),
  status: z.enum(["done", "failed", "limit", "cancelled"]),
  exit: count,
  error: failure.optional(),
  /** Why the answer may not be the end of the task, although the model stopped there. */
  incomplete: z.array(z.string()).optional(),
  /** Null when the run failed before there was a session. */
  session: z.string().nullable(),
  text: z.string(),
  /** The answer that matches `--output-schema`, or the findings of `koda review`. */
  output: z.unknown().optional(),
  usage: z.strictObject({ ...figures.shape, cost_usd: z.number().nonnegative().optional() }),
  tools: z.strictObject({ ok: count, failed: count, denied: count }),
  files_changed: count,
  /** Changed files that other programs run or obey: settings of editors and agents, hooks, workflows of CI services. */
  executable_changes: z.array(z.strictObject({ path: z.string(), kind: z.enum(executableKinds) })),
  /** The agents that the run started, by their end; absent when there were none. One that was stopped is cancelled. */
  agents: z.strictObject({ ok: count, failed: count, cancelled: count }).optional(),
  /** The MCP servers that were not connected at any time of the run; absent when there are none. */
  mcp: z.array(server).optional(),
  /** The outcome of `--verify`: 0 attempts when the turn ended without an answer to verify. */
  verify: z.strictObject({ command: z.string(), passed: z.boolean(), attempts: count }).optional(),
  duration_ms: z.number().nonnegative(),
  /**
   * The command line that continues this session. After a complete turn it needs a prompt. Null when nothing was kept.
   */
  resume: z.string().nullable(),
});

/** The end of an agent. Its changes are a part of the run's. */
const agentEnd = z.strictObject({
  type: z.literal("end"),
  status: end.shape.status,
  error: end.shape.error,
  incomplete: end.shape.incomplete,
  session: z.string(),
  text: z.string(),
  output: end.shape.output,
  usage: end.shape.usage,
  tools: end.shape.tools,
  duration_ms: end.shape.duration_ms,
});

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

/** An event of an agent that the model has started. Its first is its `session.start`, and its last its `end`. */
const agent = z.strictObject({
  type: z.literal("agent"),
  agent: z.strictObject({ id: z.string(), name: z.string() }),
  event: z.discriminatedUnion("type", [...ownEvents, agentEnd]),
});

/** `koda chat --json` has stored a submission: it has exactly one reply, if need be in a later process. */
const accepted = z.strictObject({ type: z.literal("accepted"), submission: z.string() });
/** A submission that changes nothing. */
const rejected = z.strictObject({
  type: z.literal("rejected"),
  /** Absent when the line had no id that could be read. */
  submission: z.string().optional(),
  error: z.strictObject({ code: failure.shape.code, message: z.string() }),
});
/** The outcome of a submission. */
const replied = z.strictObject({
  type: z.literal("reply"),
  submission: z.string(),
  status: end.shape.status,
  error: failure.optional(),
  /** Depends on the op. */
  result: z.unknown().optional(),
});

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

/** In a chat the events of a turn have the submission that began it. */
const envelope = {
  v: z.literal(1),
  seq: count,
  at: z.iso.datetime(),
  submission: z.string().optional(),
};

/** One line of `--output jsonl`: the envelope, then the fields of the event. */
export type Line = { v: 1; seq: number; at: string; submission?: string | undefined } & Event;

/** The compiler gives up on so large a union of shapes. */
const lineOf = (event: z.ZodObject): z.ZodType => z.strictObject({ ...envelope, ...event.shape });

export const lineSchema = z.union(events.map(lineOf)) as z.ZodType<Line>;

/** The JSON Schema of a line, for `--print-schema`. */
export function lineJsonSchema(): unknown {
  return z.toJSONSchema(lineSchema, { target: "draft-2020-12" });
}
