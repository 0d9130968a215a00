import { nearest } from "../nearest.ts";
import { hookMoments, type HookConfig } from "./config.ts";
import { excerptOfJson } from "./excerpt.ts";
import { isRecord } from "./json.ts";
import { maskKeys } from "./mask.ts";
import { choiceOf, nonEmptyString, timeLimit, trueOrFalse, type ConfigType } from "./types.ts";
import { unknownKey } from "./unknownkey.ts";

const defaultTimeoutMs = 60_000;

const moment = choiceOf(hookMoments);

const command: ConfigType<string> = {
  expected: "a command for the shell",
  schema: nonEmptyString.schema,
  read: (raw) => (typeof raw === "string" && raw.includes("\0") ? undefined : nonEmptyString.read(raw)),
};

const toolPattern: ConfigType<RegExp> = {
  expected: 'a regular expression for whole names of tools, as in "Bash|Write"',
  schema: { type: "string", minLength: 1 },
  read: (raw) => (typeof raw === "string" && raw !== "" ? anchored(raw) : undefined),
};

const fields = { on: moment, match: toolPattern, command, timeout: timeLimit, required: trueOrFalse } as const;

const hookSchema = {
  type: "object",
  properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
  required: ["on", "command"],
  additionalProperties: false,
} as const;

/** Programs of the user's that koda runs at certain moments. A project adds to them, and removes none. */
export const hookList: ConfigType<readonly HookConfig[]> = {
  expected: 'a list of hooks, as in [{"on": "tool.before", "match": "Bash", "command": "./check.sh"}]',
  schema: { type: "array", items: hookSchema },
  read: (raw) => {
    const hooks = Array.isArray(raw) ? raw.map((item: unknown) => hookOf(item, "")) : [""];
    return hooks.every((hook) => typeof hook === "object") ? hooks : undefined;
  },
  fault: (raw, place) => {
    if (!Array.isArray(raw)) return undefined;
    const hooks = raw.map((item: unknown, at) => hookOf(item, `${place}[${at}]`));
    return hooks.find((hook) => typeof hook === "string");
  },
  grows: true,
  mask: (raw) => (hasKey(raw) && Array.isArray(raw) ? raw.map(masked) : raw),
};

/** The hook, or the problem with it. */
function hookOf(raw: unknown, place: string): HookConfig | string {
  if (!isRecord(raw)) return `"${place}" is ${excerptOfJson(raw)}, expected an object`;
  const problems = Object.entries(raw).map(([name, value]) => problemOf(name, value, place));
  const first = problems.find((problem) => problem !== undefined);
  if (first !== undefined) return first;
  const on = moment.read(raw.on);
  const line = command.read(raw.command);
  const match = toolPattern.read(raw.match);
  if (on === undefined) return missing("on", place);
  if (line === undefined) return missing("command", place);
  if (match !== undefined && !on.startsWith("tool."))
    return `"${place}.match" has no use in a hook on "${on}": only "tool.before" and "tool.after" have a tool`;
  return {
    on,
    command: line,
    timeoutMs: timeLimit.read(raw.timeout) ?? defaultTimeoutMs,
    required: raw.required === true,
    ...(match !== undefined && { match }),
  };
}

function problemOf(name: string, value: unknown, place: string): string | undefined {
  const type = Object.entries(fields).find(([known]) => known === name)?.[1];
  if (type === undefined) return unknownKey(name, `in "${place}"`, Object.keys(fields));
  if (type.read(value) !== undefined) return undefined;
  const meant = typeof value === "string" && type === moment ? nearest(value, hookMoments) : undefined;
  const hint = meant === undefined ? "" : ` (did you mean "${meant}"?)`;
  return `"${place}.${name}" is ${excerptOfJson(value)}, expected ${type.expected}${hint}`;
}

function missing(name: keyof typeof fields, place: string): string {
  return `"${place}.${name}" is missing, expected ${fields[name].expected}`;
}

/** Each is compiled by itself first: `a)|(b` is a pattern only between the anchors. */
function anchored(pattern: string): RegExp | undefined {
  try {
    return new RegExp(`^(?:${new RegExp(pattern, "u").source})$`, "u");
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Otherwise the value is its own mask, and may be printed. */
function hasKey(raw: unknown): boolean {
  const text = JSON.stringify(raw);
  return maskKeys(text) !== text;
}

function masked(hook: unknown): unknown {
  return isRecord(hook) && typeof hook.command === "string" ? { ...hook, command: maskKeys(hook.command) } : hook;
}
