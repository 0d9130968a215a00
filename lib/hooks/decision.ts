import type { HookMoment } from "../config/config.ts";
import { isRecord, readJson, type JsonRecord } from "../config/json.ts";
import { unknownKey } from "../config/unknownkey.ts";

/** The answer of one hook. */
export type HookDecision = {
  /** The reason for a denial. */
  denied?: string;
  rewritten?: { input: unknown };
  context?: string;
};

const keys = ["decision", "reason", "input", "context"] as const;

/** A turn or session that has ended cannot be denied any more, nor is there a request for the model. */
export const isEnding = (on: HookMoment): boolean => on === "turn.end" || on === "session.end";

/** The decision that a hook printed, or the problem with it. Printing nothing allows. */
export function readDecision(printed: string, on: HookMoment): HookDecision | string {
  if (printed.trim() === "") return {};
  const { value, problem } = readJson(printed);
  if (problem !== undefined) return `its output is not JSON (${problem})`;
  if (!isRecord(value)) return "its output is not a JSON object";
  return problemOf(value, on) ?? decisionOf(value);
}

function problemOf(answer: JsonRecord, on: HookMoment): string | undefined {
  const { decision, reason, context } = answer;
  const unknown = Object.keys(answer).find((name) => !keys.some((key) => key === name));
  if (unknown !== undefined) return unknownKey(unknown, "in its output", keys);
  if (![undefined, "allow", "deny"].some((word) => word === decision))
    return `its decision is ${JSON.stringify(decision)}, expected "allow" or "deny"`;
  if (reason !== undefined && typeof reason !== "string") return "its reason is not a string";
  if (context !== undefined && typeof context !== "string") return "its context is not a string";
  if ("input" in answer && on !== "tool.before") return `input has no use on "${on}": it is for "tool.before"`;
  if (!isEnding(on)) return undefined;
  if (decision === "deny") return `"${on}" cannot be denied`;
  return context === undefined ? undefined : `context has no use on "${on}": no request follows`;
}

function decisionOf({ decision, reason, context, ...rest }: JsonRecord): HookDecision {
  return {
    ...(decision === "deny" && { denied: String(reason ?? "") }),
    ...("input" in rest && { rewritten: { input: rest.input } }),
    ...(typeof context === "string" && context.trim() !== "" && { context }),
  };
}
