import { z } from "zod";
import { modes, networks } from "../config/config.ts";
import { elicitationDecisions } from "../tools/elicitation.ts";
import { approvalDecisions } from "../trust/approvaldecision.ts";
import { nearest } from "../nearest.ts";

/** The submissions of `koda chat --json`: one JSON object a line, told apart by `op`. */
const text = z.strictObject({ type: z.literal("text"), text: z.string() });
const image = z.strictObject({ type: z.literal("image"), mime: z.string(), base64: z.base64() });

/** Settings that may change between two turns. Lists add to those of before. */
const change = {
  model: z.string().min(1).optional(),
  mode: z.enum(modes).optional(),
  cwd: z.string().min(1).optional(),
  effort: z.enum(["low", "medium", "high"]).optional(),
  /** As `--verify`; null for none. */
  verify: z.string().min(1).nullable().optional(),
  allow_write: z.array(z.string().min(1)).optional(),
  allow_read: z.array(z.string().min(1)).optional(),
  deny_read: z.array(z.string().min(1)).optional(),
  allow_git: z.boolean().optional(),
  net: z.enum(networks).optional(),
  allow_net: z.array(z.string().min(1)).optional(),
  deny_net: z.array(z.string().min(1)).optional(),
};

const target = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("uncommitted") }),
  z.strictObject({ kind: z.literal("base"), base: z.string().min(1) }),
  z.strictObject({ kind: z.literal("commit"), commit: z.string().min(1) }),
  z.strictObject({ kind: z.literal("text"), text: z.string().min(1) }),
]);

const id = { id: z.string().min(1).max(128).optional() };
const op = <N extends string, S extends z.ZodRawShape>(name: N, shape: S) =>
  z.strictObject({ ...id, op: z.literal(name), ...shape });

const shapes = [
  op("input", {
    text: z.string().optional(),
    parts: z.array(z.discriminatedUnion("type", [text, image])).optional(),
    schema: z.record(z.string(), z.unknown()).optional(),
    settings: z.strictObject(change).optional(),
  }),
  op("settings", change),
  op("interrupt", {}),
  op("approve", {
    call: z.string(),
    decision: z.enum(approvalDecisions),
    feedback: z.string().optional(),
  }),
  op("answer", { question: z.string(), text: z.string().min(1) }),
  op("elicit", {
    server: z.string(),
    request: z.string(),
    decision: z.enum(elicitationDecisions),
    content: z.record(z.string(), z.unknown()).optional(),
  }),
  op("shell", { command: z.string().min(1) }),
  op("compact", {}),
  op("undo", {}),
  op("rollback", { turns: z.int().min(1, "num_turns must be >= 1"), files: z.boolean().optional() }),
  op("review", { target: target.optional(), hint: z.string().min(1).optional() }),
  op("tools.list", {}),
  op("skills.list", { cwds: z.array(z.string().min(1)).optional(), reload: z.boolean().optional() }),
  op("prompts.list", {}),
  op("agents.list", {}),
  op("mcp.list", {}),
  op("mcp.refresh", { config: z.string().min(1).optional() }),
  op("history.add", { text: z.string().min(1) }),
  op("history.get", { offset: z.int().nonnegative().optional(), log: z.string().optional() }),
  op("clear", {}),
  op("shutdown", {}),
] as const;

const submission = z.discriminatedUnion("op", shapes);

export type Submission = z.infer<typeof submission>;
export type Op = Submission["op"];
export type SubmissionOf<O extends Op> = Extract<Submission, { op: O }>;
/** `mcp_config` is a file of servers, as `--mcp-config` takes it. */
export type SettingsChange = z.infer<z.ZodObject<typeof change>> & { mcp_config?: string };

const ops: readonly string[] = shapes.map((shape) => shape.shape.op.value);

const example = '{"op":"input","text":"…"}';

/** A submission, or why the line is none; `id` is that of the line as far as it could be read. */
type Read = { submission: Submission } | { problem: string; id?: string };

export function readSubmission(line: string): Read {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { problem: `Cannot read the line "${shortened(line)}": expected one JSON object, such as ${example}` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { problem: `Cannot read the line "${shortened(line)}": expected a JSON object with "op"` };
  const { id, op: name } = value as { id?: unknown; op?: unknown };
  const known = typeof id === "string" ? { id } : {};
  const { data, error } = submission.safeParse(value);
  if (data === undefined) return { problem: problemOf(name, error), ...known };
  if (data.op === "input" && (data.text === undefined) === (data.parts === undefined))
    return { problem: 'Cannot accept the input: expected either "text" or "parts"', ...known };
  return { submission: data };
}

function problemOf(name: unknown, error: z.ZodError): string {
  if (typeof name !== "string") return `Cannot accept the submission: "op" is missing, expected ${ops.join(", ")}`;
  if (!ops.includes(name)) {
    const meant = nearest(name, ops);
    const hint = meant === undefined ? `expected ${ops.join(", ")}` : `did you mean "${meant}"?`;
    return `Unknown op "${shortened(name)}" (${hint})`;
  }
  const faults = error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `"${path.join(".")}": ${message}`,
  );
  return `Cannot accept the ${name}: ${faults.join("; ")}`;
}

function shortened(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`;
}

/** The JSON Schema of a line, for `--print-schema`. */
export function submissionJsonSchema(): unknown {
  return z.toJSONSchema(submission, { target: "draft-2020-12" });
}
