import { type Mode, modes } from "../config/config.ts";
import type { JsonRecord } from "../config/json.ts";
import { unknownKey } from "../config/unknownkey.ts";
import { KodaError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { describedBy, excerptOfYaml, toolsIn } from "./fields.ts";
import { parseFrontMatter } from "./frontmatter.ts";

/** The content of `NAME.md`. */
type AgentFile = {
  readonly description: string;
  readonly prompt: string;
  readonly model?: string;
  readonly mode?: Mode;
  readonly tools?: readonly string[];
  readonly maxTurns?: number;
};

/** `known` are the tools that it may name, beside those of servers. */
type Expected = { readonly name: string; readonly known: readonly string[] };

/** It is the child that continues its parent's conversation, and has no definition. */
const reserved = "fork";

/** Reads a definition strictly; the notices are about mistakes that make it no wider. Throws a KodaError. */
export function parseAgent(text: string, { name, known }: Expected): { agent: AgentFile; notices: readonly string[] } {
  const parsed = parseFrontMatter(text);
  if ("problem" in parsed) throw fail(parsed.problem);
  const { fields, body } = parsed;
  const described = describedBy(fields, { kind: "agent", entry: name });
  if ("problem" in described) throw fail(described.problem);
  if (name === reserved) throw fail(`the name "${reserved}" is reserved`);
  const unknown = unknownKeys(fields);
  const options = optionsIn(fields);
  const prompt = body.trim();
  if (prompt === "") throw fail("there is no text below its front matter, which would be its system prompt");
  const notices = [...unknown, ...unknownTools(options.tools ?? [], known)];
  return { agent: { ...described, prompt, ...options }, notices };
}

const fail = (problem: string) => new KodaError("config", problem);

const narrowing = ["mode", "tools", "max_turns"] as const;
const keys = ["name", "description", "model", ...narrowing];

/** An unknown key that could have been meant to narrow the agent is a mistake: it would be wider without. */
function unknownKeys(fields: JsonRecord): string[] {
  return Object.keys(fields).flatMap((key) => {
    if (keys.includes(key)) return [];
    const message = unknownKey(key, "in its front matter", keys);
    if (nearest(key, narrowing) !== undefined || /mode|tool|turn/i.test(key)) throw fail(message);
    return [message];
  });
}

/** A field without a value is a mistake too. */
function optionsIn(fields: JsonRecord): Pick<AgentFile, "model" | "mode" | "tools" | "maxTurns"> {
  const field = <T>(key: string, read: (value: unknown) => T | undefined, expected: string) => {
    if (!(key in fields)) return undefined;
    const value = read(fields[key]);
    if (value === undefined) throw fail(`"${key}" is ${excerptOfYaml(fields[key])}, expected ${expected}`);
    return value;
  };
  const model = field("model", modelIn, "a model, as -m takes it");
  const mode = field("mode", (value) => modes.find((each) => each === value), "plan, safe or auto");
  const tools = field("tools", toolsIn, "names of tools, in a list or separated by commas or spaces");
  const maxTurns = field("max_turns", turnsIn, "a positive integer");
  return {
    ...(model !== undefined && { model }),
    ...(mode !== undefined && { mode }),
    ...(tools !== undefined && { tools: [...new Set(tools)] }),
    ...(maxTurns !== undefined && { maxTurns }),
  };
}

function modelIn(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function turnsIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** Those of servers (`server__tool`, `server__*`) are known when these are connected. */
function unknownTools(tools: readonly string[], known: readonly string[]): string[] {
  const unknown = tools.filter((tool) => !known.includes(tool) && !/^[\w-]+?__./.test(tool));
  return unknown.map((tool) => `unknown tool ${excerptOfYaml(tool)} in "tools" (${hintFor(tool, known)})`);
}

function hintFor(tool: string, known: readonly string[]): string {
  const [name = ""] = tool.split("(");
  if (name !== tool && known.includes(name)) return `patterns for commands are not possible here: write "${name}"`;
  const meant = nearest(tool, known);
  return meant === undefined ? `the tools are ${known.join(", ")}` : `did you mean "${meant}"?`;
}
