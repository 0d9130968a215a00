import { z } from "zod";
import { eventFields } from "./fields.ts";

const { count, failure } = eventFields;

const turnStart = z
  .strictObject({ type: z.literal("turn.start"), turn: count.describe("The number of the turn, from 1") })
  .describe("A turn begins: from a prompt to its answer");

const turnEnd = z
  .strictObject({
    type: z.literal("turn.end"),
    turn: count.describe("The number of the turn"),
    reason: z.enum(["complete", "cancelled", "limit", "error"]).describe("Why it ended"),
    error: failure.optional().describe("The failure, when it did not complete"),
  })
  .describe("The turn is over");

const textDelta = z
  .strictObject({ type: z.literal("text.delta"), text: z.string().describe("The next piece") })
  .describe("The model's text, as it comes");

const textDone = z
  .strictObject({ type: z.literal("text.done"), text: z.string().describe("All of the reply's text") })
  .describe("The text of a reply is complete");

const thinkingDelta = z
  .strictObject({ type: z.literal("thinking.delta"), text: z.string().describe("The next piece") })
  .describe("The model's thinking, as far as the provider shows it");

export const turnEvents = [turnStart, turnEnd, textDelta, textDone, thinkingDelta] as const;
