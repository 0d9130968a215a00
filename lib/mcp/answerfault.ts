import { parseJson } from "../config/json.ts";
import { messageOf } from "../errors.ts";

/** The message of an error. The library lists what is wrong with an answer as JSON: the first of it says enough. */
export function answerFault(error: unknown): string {
  const message = messageOf(error);
  const [, method, list] = /^Invalid result for (\S+): (\[[\s\S]*\])$/.exec(message) ?? [];
  const issues = list === undefined ? undefined : parseJson(list);
  const [first] = Array.isArray(issues) ? (issues as { path?: unknown[]; message?: unknown }[]) : [];
  if (first === undefined) return message;
  const place = first.path === undefined || first.path.length === 0 ? "" : `"${first.path.join(".")}": `;
  return `its answer to ${method} is not valid: ${place}${String(first.message)}`;
}
