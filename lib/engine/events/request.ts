import { z } from "zod";
import { eventFields } from "./fields.ts";

const { count, figures } = eventFields;

const limits = z.strictObject({
  windows: z
    .array(
      z.strictObject({
        name: z.string(),
        used_percent: z.number().nonnegative(),
        window_minutes: z.number().nonnegative().nullable(),
        resets_at: z.iso.datetime().nullable(),
      }),
    )
    .describe("How much of each window is used, and when it resets; null when the provider does not tell"),
  credits: z
    .strictObject({ has_credits: z.boolean(), unlimited: z.boolean(), balance: z.string().nullable() })
    .exactOptional()
    .describe("The account's credits"),
  plan: z.string().exactOptional().describe("The account's plan"),
});

const usage = z
  .strictObject({
    type: z.literal("usage"),
    request: figures.describe("Of this request; null is unknown"),
    turn: figures.describe("Of the turn so far"),
    session: figures.describe("Of the session so far"),
    context: z
      .strictObject({
        used: count.nullable().describe("Tokens of the conversation"),
        window: count.describe("Tokens that the model can take"),
      })
      .describe("How full the model's window is"),
    cost_usd: z.number().nonnegative().optional().describe("The cost of the run so far; absent when unknown"),
    limits: limits.optional().describe("The provider's own limits, as far as its headers tell them"),
  })
  .describe("After each reply; with unknown figures also after a refusal that told the provider's limits");

const retry = z
  .strictObject({
    type: z.literal("retry"),
    attempt: count.describe("The number of the retry, from 1"),
    max: count.describe("The most retries"),
    delay_ms: z.number().nonnegative().describe("The time until it"),
    code: z.string().describe("The kind of failure, as in `error.code`"),
    message: z.string().describe("A line for people"),
    reason: z.string().describe("The failure of the previous attempt"),
  })
  .describe("A request to the model failed, and is repeated");

const compact = z
  .strictObject({
    type: z.literal("compact"),
    kind: z
      .enum(["full", "micro"])
      .describe("`full`: the conversation was summarized; `micro`: old results were left out"),
    before_tokens: count.describe("The size of the conversation before"),
    after_tokens: count.describe("And after"),
  })
  .describe("The conversation now takes less of the model's window");

export const requestEvents = [usage, retry, compact] as const;
