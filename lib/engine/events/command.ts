import { z } from "zod";
import { eventFields } from "./fields.ts";

const { count, stream, written, ending } = eventFields;

const attempt = count.describe("The number of the attempt, from 1");

const verifyStart = z
  .strictObject({
    type: z.literal("verify.start"),
    attempt,
    max: count.describe("`--verify-attempts`"),
    command: z.string().describe("The command"),
  })
  .describe("The command of `--verify` begins; it is no call of the model's");

const verifyOutput = z
  .strictObject({ type: z.literal("verify.output"), attempt, stream, text: written })
  .describe("Output of that command, as it comes");

const verifyEnd = z
  .strictObject({
    type: z.literal("verify.end"),
    attempt,
    passed: z.boolean().describe("Whether it exited with 0"),
    ...ending,
  })
  .describe("That command is over");

const shellId = z.string().describe("The id of the submission");

const shellStart = z
  .strictObject({ type: z.literal("shell.start"), id: shellId, command: z.string().describe("The command") })
  .describe("A command of the user's begins in a chat; it is no call of the model's");

const shellOutput = z
  .strictObject({ type: z.literal("shell.output"), id: shellId, stream, text: written })
  .describe("Output of that command, as it comes");

const shellEnd = z
  .strictObject({ type: z.literal("shell.end"), id: shellId, ...ending })
  .describe("That command is over");

export const verifyEvents = [verifyStart, verifyOutput, verifyEnd] as const;
export const shellEvents = [shellStart, shellOutput, shellEnd] as const;
