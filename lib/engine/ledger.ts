import type { Price, Usage } from "../model/model.ts";
import { mergeRateLimits, type RateLimits } from "../model/ratelimits.ts";
import { addUsage, noUsage } from "../model/usage.ts";
import type { Figures } from "./event.ts";
import type { Failure } from "./outcome.ts";

export type Limits = {
  maxTurns: number;
  maxTokens?: number;
  maxCostUsd?: number;
  /** The source of `maxTurns`, for messages. */
  setBy?: string;
};

/**
 * The spending of one koda command. An agent has a ledger of its own, and everything in it counts in its parent's too:
 * a child cannot outspend its parent. A resumed session starts with a fresh ledger.
 */
export type Ledger = {
  readonly limits: Limits;
  readonly parent: Ledger | undefined;
  requests: number;
  /** Requests beyond the limit that the user has allowed. */
  extraRequests: number;
  /** Input and output as reported, or estimated where a provider reports nothing: a hard limit has to hold. */
  tokens: number;
  /** The cost of these tokens, as far as their price is known. */
  spentUsd: number;
  /** The least that the next request will cost, and its input. */
  nextUsd: number;
  nextInput: number;
  usage: Figures;
  /** The agents that have been started and not ended, which share what is left. */
  agents: number;
  /** Those of them whose request is under way, and the most that these will cost. */
  asking: number;
  askingUsd: number;
  /** Replies whose usage was not reported, or whose price is not known: a single one makes the cost unknown. */
  unpriced: number;
  /** The cost of the other replies. */
  pricedUsd: number;
  readonly calls: { ok: number; failed: number; denied: number };
  /** Commands that started, and those for which the sandbox could not be set up. */
  readonly commands: { begun: number; refused: number };
  /** The provider's own limits, as its last response told them. */
  rateLimits: RateLimits | undefined;
};

export function openLedger(limits: Limits, parent?: Ledger): Ledger {
  return {
    limits,
    parent,
    requests: 0,
    extraRequests: 0,
    tokens: 0,
    spentUsd: 0,
    nextUsd: 0,
    nextInput: 0,
    agents: 0,
    asking: 0,
    askingUsd: 0,
    usage: noUsage,
    unpriced: 0,
    pricedUsd: 0,
    calls: { ok: 0, failed: 0, denied: 0 },
    commands: { begun: 0, refused: 0 },
    rateLimits: undefined,
  };
}

type Tokens = { input: number; output: number };

type Spending = {
  usage: Usage;
  /** For what is not reported. */
  estimate: () => Tokens;
  price: Price | undefined;
};

/** The ledgers in which something of this one counts: its own, and its parent's. */
function* concerned(ledger: Ledger): Generator<Ledger, void> {
  for (let at: Ledger | undefined = ledger; at !== undefined; at = at.parent) yield at;
}

/** The limit on requests is for each turn of a chat. */
export function renewRequests(ledger: Ledger): void {
  ledger.requests = 0;
  ledger.extraRequests = 0;
}

export function countRequest(ledger: Ledger): void {
  for (const each of concerned(ledger)) each.requests++;
}

export function countCall(ledger: Ledger, kind: keyof Ledger["calls"]): void {
  for (const { calls } of concerned(ledger)) calls[kind]++;
}

export function countCommand(ledger: Ledger, kind: keyof Ledger["commands"]): void {
  for (const { commands } of concerned(ledger)) commands[kind]++;
}

/** Counts a complete reply. */
export function spend(ledger: Ledger, { usage, estimate, price }: Spending): void {
  const { input, output } = usage;
  const isReported = input !== null && output !== null;
  const cost = costOfReply(usage, price);
  for (const each of concerned(ledger)) {
    each.usage = addUsage(each.usage, usage);
    if (cost === undefined) each.unpriced++;
    each.pricedUsd += cost ?? 0;
  }
  const tokens = isReported ? { input, output } : { ...estimate(), ...known({ input, output }) };
  spendLost(ledger, tokens, price, usage);
  foresee(ledger, tokens.input + tokens.output, price);
}

/** Notes the least that a request with this input costs: all of it cached, and hardly an answer. */
export function foresee(ledger: Ledger, input: number, price: Price | undefined): void {
  if (price === undefined) return;
  ledger.nextUsd = usdOf({ input, cached: input, output: leastOutput }, price);
  ledger.nextInput = input;
}

/** Counts tokens for the limits alone: those of an attempt that broke, which no provider reports. */
export function spendLost(
  ledger: Ledger,
  tokens: Tokens,
  price: Price | undefined,
  { cached, written = 0 }: Pick<Usage, "cached" | "written"> = noUsage,
): void {
  const usd = price === undefined ? 0 : usdOf({ ...tokens, cached: cached ?? 0, written }, price);
  for (const each of concerned(ledger)) {
    each.tokens += tokens.input + tokens.output;
    each.spentUsd += usd;
  }
}

function known({ input, output }: Record<keyof Tokens, number | null>): Partial<Tokens> {
  return { ...(input !== null && { input }), ...(output !== null && { output }) };
}

/** Providers refuse a shorter limit of a reply. */
const leastOutput = 16;

/** The request may turn out this much larger than foreseen, and then costs what a higher tier says. */
const largestGrowth = 2;

/** The longest reply that the cost limit allows, in tokens; undefined without one. */
export function affordableOutput(ledger: Ledger, price: Price | undefined): number | undefined {
  const { nextUsd, nextInput, parent } = ledger;
  const payer = parent ?? ledger;
  if (payer.limits.maxCostUsd === undefined || !price?.output) return undefined;
  const { output } = ratesFor(nextInput * largestGrowth, price);
  // Agents work side by side, and their parent has to be able to go on.
  const share = parent === undefined ? 1 : Math.max(parent.agents - parent.asking, 1);
  const kept = parent === undefined ? 0 : keptUsd(parent) + parent.askingUsd;
  const leftUsd = (payer.limits.maxCostUsd - payer.spentUsd - kept) / share - nextUsd;
  const left = Math.floor((leftUsd / output) * 1e6);
  return Math.max(left, 0) + leastOutput;
}

/** Sets aside what an agent's request was allowed to cost, until its reply has been counted. */
export function reserve(
  { parent, nextUsd }: Ledger,
  { affordableOutput: output }: { affordableOutput?: number },
  price: Price | undefined,
): Disposable {
  if (parent === undefined || output === undefined || price === undefined) return { [Symbol.dispose]() {} };
  // The least output is a part of the next request's cost.
  const usd = nextUsd + ((output - leastOutput) * price.output) / 1e6;
  parent.asking++;
  parent.askingUsd += usd;
  return {
    [Symbol.dispose]() {
      parent.asking--;
      parent.askingUsd -= usd;
    },
  };
}

/** The money that agents leave to their parent for its answer. */
function keptUsd({ nextUsd }: Ledger): number {
  return nextUsd * largestGrowth;
}

/** In US dollars; undefined when the price or any of the figures is unknown. */
export function costOf({ usage, unpriced, pricedUsd }: Ledger, price: Price | undefined): number | undefined {
  const { input, output } = usage;
  if (price === undefined || unpriced > 0 || input === null || output === null) return undefined;
  return rounded(pricedUsd);
}

/** Each request has a tier of its own, so costs are added and never computed from total usage. */
function costOfReply({ input, cached, written, output }: Usage, price: Price | undefined): number | undefined {
  if (price === undefined || input === null || output === null) return undefined;
  return usdOf({ input, cached: cached ?? 0, written: written ?? 0, output }, price);
}

/** `cached` and `written` are parts of `input`. */
type PricedTokens = Tokens & { cached: number; written?: number };

function usdOf({ input, cached, written = 0, output }: PricedTokens, price: Price): number {
  const rates = ratesFor(input, price);
  const cache = cached * (rates.cached ?? rates.input) + written * (rates.written ?? rates.input);
  // Cached input that is more than all of it was counted beside the rest.
  const plain = cached + written > input ? input : input - cached - written;
  return (plain * rates.input + cache + output * rates.output) / 1e6;
}

function ratesFor(input: number, price: Price): Omit<Price, "tiers"> {
  return price.tiers?.findLast(({ above }) => input > above) ?? price;
}

/** To a billionth of a dollar: the rest is floating-point noise. */
function rounded(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}

export function noteRateLimits(ledger: Ledger, told: RateLimits): void {
  ledger.rateLimits = mergeRateLimits(ledger.rateLimits, told);
}

/** An item of the log with the cost of its request, when that is known. */
export function priced<T extends { usage: Usage }>(item: T, price: Price | undefined): T & { costUsd?: number } {
  const costUsd = costOfReply(item.usage, price);
  return costUsd === undefined ? item : { ...item, costUsd: rounded(costUsd) };
}

/** The limit that is reached, if any. The last request of a run is its own, and not for its agents. */
export function limitReached(ledger: Ledger): Failure | undefined {
  const { parent, nextUsd } = ledger;
  const own = reached(ledger, { kept: 0, nextUsd });
  return own ?? (parent && reached(parent, { kept: 1, nextUsd: nextUsd + keptUsd(parent) + parent.askingUsd }));
}

type Next = { kept: number; nextUsd: number };

function reached(
  { limits, requests, extraRequests, tokens, spentUsd }: Ledger,
  { kept, nextUsd }: Next,
): Failure | undefined {
  const { maxTurns, maxTokens, maxCostUsd, setBy = "--max-turns" } = limits;
  if (maxTokens !== undefined && tokens >= maxTokens)
    return limit("max_tokens", `Token limit reached: ${tokens} of ${maxTokens} (--max-tokens)`);
  if (maxCostUsd !== undefined && rounded(spentUsd + nextUsd) >= maxCostUsd) {
    const spent = `Cost limit reached: ${dollars(spentUsd)} of $${maxCostUsd}`;
    const next = spentUsd < maxCostUsd ? ` is spent, and the next request costs at least ${dollars(nextUsd)}` : "";
    return limit("max_cost", `${spent}${next} (--max-cost)`);
  }
  const most = maxTurns + extraRequests;
  if (requests >= most - kept) return limit("max_turns", `Request limit reached: ${most} (${setBy})`);
  return undefined;
}

function dollars(usd: number): string {
  return `$${Number(usd.toPrecision(4))}`;
}

/** True when the next request is the last one allowed. */
export function isLastRequest({ limits, requests, extraRequests, parent }: Ledger): boolean {
  if (requests >= limits.maxTurns + extraRequests - 1) return true;
  return parent !== undefined && parent.requests >= parent.limits.maxTurns + parent.extraRequests - 2;
}

function limit(code: "max_tokens" | "max_cost" | "max_turns", message: string): Failure {
  return { code, message, retryable: true };
}
