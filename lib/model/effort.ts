import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import type { ModelInfo, ModelSettings } from "./model.ts";

/** The SDK's type has no temperature, since new models of the API take none; older and other models do. */
type Thinking = Pick<MessageCreateParamsStreaming, "thinking" | "output_config"> & { temperature?: number };

/**
 * How a model of the Messages API is asked to think. Claude has decided by itself how much since 4.6, guided by an
 * effort; older models and other companies' get a number of tokens. Thinking refuses a temperature, so with one it is
 * asked for only when an effort is given too.
 */
export function thinkingSettings(info: ModelInfo, settings: ModelSettings, reply: ReplyLimits): Thinking {
  const { reasoningEffort: effort, temperature } = settings;
  const given = { ...(temperature !== undefined && { temperature }) };
  if (info.thoughts === false || (effort === undefined && temperature !== undefined)) return given;
  if (decidesItself(info.name))
    return { ...given, thinking: { type: "adaptive" }, ...(effort && { output_config: { effort } }) };
  const budget = effort === undefined ? 0 : budgetFor(effort, reply);
  return budget < leastBudget ? given : { ...given, thinking: { type: "enabled", budget_tokens: budget } };
}

/** The usual limit of replies, in tokens, and that of the next one. */
type ReplyLimits = { usual: number; next: number };

/**
 * Halved until it fits: what the cost limit leaves changes from request to request, and each other budget makes the
 * provider forget the conversation that it has cached.
 */
function budgetFor(effort: keyof typeof budgets, { usual, next }: ReplyLimits): number {
  let budget = Math.min(budgets[effort], usual - leastAnswer);
  while (budget >= leastBudget && budget > next - leastAnswer) budget = Math.floor(budget / 2);
  return budget;
}

const budgets = { low: 4_000, medium: 12_000, high: 24_000 } as const;
/** The API's own minimum. */
const leastBudget = 1_024;
const leastAnswer = 1_024;

/** True for Claude since 4.6, however a provider writes it: `claude-opus-4-6`, `anthropic.claude-fable-5-1-v1:0`. */
function decidesItself(name: string): boolean {
  const [, major, minor] = /claude-(?:[a-z]+-)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(name) ?? [];
  const version = Number(major ?? 0) + Number(minor ?? 0) / 100;
  return version >= 4.06 || /claude-mythos/.test(name);
}
