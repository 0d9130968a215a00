import { z } from "zod";
import { eventFields } from "./fields.ts";

const { effect, stream, written, ending } = eventFields;

const toolStart = z
  .strictObject({
    type: z.literal("tool.start"),
    id: z.string().describe("The id of the call"),
    tool: z.string().describe("The name of the tool"),
    input: z.unknown().describe("The arguments; a string when they were not JSON"),
    effect,
  })
  .describe("A call begins");

const toolOutput = z
  .strictObject({
    type: z.literal("tool.output"),
    id: z.string().describe("The id of the call"),
    stream,
    text: written,
  })
  .describe("Output of a command, as it comes");

const toolEnd = z
  .strictObject({
    type: z.literal("tool.end"),
    id: z.string().describe("The id of the call"),
    tool: z.string().describe("The name of the tool"),
    ok: z.boolean().describe("Whether it worked; a command that exits with another code than 0 has failed"),
    denied: z.string().optional().describe("The rule that refused the call"),
    ...ending,
  })
  .describe("A call is over; every `tool.start` has one");

export const callEvents = [toolStart, toolOutput, toolEnd] as const;
