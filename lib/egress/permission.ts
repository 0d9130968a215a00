import { unlessAborted } from "../async/unlessaborted.ts";
import { isUnlisted } from "./rules/decide.ts";
import { exactly } from "./rules/pattern.ts";
import type { HostQuestion, WayOut } from "./wayout.ts";

/**
 * The way out to a host, about which the user is asked when it is only missing on the list. All other rules count for
 * what they allow too: it is judged again at each connection, and so is every address of its name.
 */
export async function permitted<W extends WayOut>(
  question: HostQuestion,
  wayOut: W,
  signal: AbortSignal,
): Promise<W | { reason: string }> {
  const { rules, ask } = wayOut;
  if (ask === undefined || !isUnlisted(question.target, rules)) return wayOut;
  const answer = await unlessAborted(ask(question), signal);
  if (answer.allow) return { ...wayOut, rules: { ...rules, allow: [...rules.allow, exactly(question.target)] } };
  return answer.reason === undefined ? wayOut : { reason: answer.reason };
}
