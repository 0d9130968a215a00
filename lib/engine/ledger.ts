import type { Price, Usage } from "../model/model.ts";
import { addUsage, noUsage } from "../model/usage.ts";
import type { Figures } from "./event.ts";
import type { Failure } from "./outcome.ts";

export type Limits = { maxTurns: number; maxTokens?: number };

/**
 * The spending of one koda command, shared with every agent it starts, so that a child cannot outspend its parent. A
 * resumed session starts with a fresh ledger.
 */
export type Ledger = {
  readonly limits: Limits;
  requests: number;
  /** Input and output as reported, or estimated where a provider reports nothing: a hard limit has to hold. */
  tokens: number;
  usage: Figures;
  /** Requests whose input or output was not reported: a single one makes the cost unknown. */
  unreported: number;
  readonly calls: { ok: number; failed: number; denied: number };
  /** Commands that started, and those for which the sandbox could not be set up. */
  readonly commands: { begun: number; refused: number };
};

export function openLedger(limits: Limits): Ledger {
  return {
    limits,
    requests: 0,
    tokens: 0,
    usage: noUsage,
    unreported: 0,
    calls: { ok: 0, failed: 0, denied: 0 },
    commands: { begun: 0, refused: 0 },
  };
}

export function spend(ledger: Ledger, usage: Usage, estimate: number): void {
  ledger.usage = addUsage(ledger.usage, usage);
  const reported = usage.input !== null || usage.output !== null;
  if (usage.input === null || usage.output === null) ledger.unreported++;
  ledger.tokens += reported ? (usage.input ?? 0) + (usage.output ?? 0) : estimate;
}

/** In US dollars; undefined when the price or any of the figures is unknown. */
export function costOf(
  { usage, unreported }: Pick<Ledger, "usage" | "unreported">,
  price: Price | undefined,
): number | undefined {
  const { input, cached, output } = usage;
  if (price === undefined || unreported > 0 || input === null || output === null) return undefined;
  const fromCache = cached ?? 0;
  const perMillion =
    (input - fromCache) * price.input + fromCache * (price.cached ?? price.input) + output * price.output;
  // A billionth of a dollar: the rest is floating-point noise.
  return Math.round(perMillion * 1e3) / 1e9;
}

/** An item of the log with the cost of its request, when that is known. */
export function priced<T extends { usage: Usage }>(item: T, price: Price | undefined): T & { costUsd?: number } {
  const costUsd = costOf({ usage: item.usage, unreported: 0 }, price);
  return costUsd === undefined ? item : { ...item, costUsd };
}

/** The limit that is reached, if any. */
export function limitReached({ limits, requests, tokens }: Ledger): Failure | undefined {
  if (limits.maxTokens !== undefined && tokens >= limits.maxTokens)
    return limit("max_tokens", `Token limit reached: ${tokens} of ${limits.maxTokens} (--max-tokens)`);
  if (requests >= limits.maxTurns) return limit("max_turns", `Request limit reached: ${limits.maxTurns} (--max-turns)`);
  return undefined;
}

/** True when the next request is the last one allowed. */
export function isLastRequest({ limits, requests }: Ledger): boolean {
  return requests === limits.maxTurns - 1;
}

function limit(code: "max_tokens" | "max_turns", message: string): Failure {
  return { code, message, retryable: true };
}
