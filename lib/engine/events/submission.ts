import { z } from "zod";
import { endSchema } from "./end.ts";
import { eventFields } from "./fields.ts";

const { failure } = eventFields;

const accepted = z
  .strictObject({ type: z.literal("accepted"), submission: z.string().describe("The id of the submission") })
  .describe("A submission is stored: it has exactly one `reply`, if need be in a later process");

const rejected = z
  .strictObject({
    type: z.literal("rejected"),
    submission: z.string().optional().describe("Its id; absent when the line had none that could be read"),
    error: z
      .strictObject({ code: failure.shape.code, message: z.string().describe("What is wrong with it") })
      .describe("The reason"),
  })
  .describe("A submission that changes nothing");

const replied = z
  .strictObject({
    type: z.literal("reply"),
    submission: z.string().describe("The id of the submission"),
    status: endSchema.shape.status,
    error: failure.optional().describe("The failure"),
    result: z.unknown().optional().describe("Depends on the `op` of the submission"),
  })
  .describe("The outcome of a submission");

export const submissionEvents = [accepted, rejected, replied] as const;
