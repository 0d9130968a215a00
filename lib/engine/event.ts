import { z } from "zod";
import type { Mailbox } from "../async/mailbox.ts";
import { callEvents } from "./events/call.ts";
import { shellEvents, verifyEvents } from "./events/command.ts";
import { agentEndSchema, endSchema } from "./events/end.ts";
import { eventFields } from "./events/fields.ts";
import { progressEvents } from "./events/progress.ts";
import { questionEvents } from "./events/question.ts";
import { requestEvents } from "./events/request.ts";
import { startSchema } from "./events/start.ts";
import { submissionEvents } from "./events/submission.ts";
import { turnEvents } from "./events/turn.ts";

/**
 * The events that `--output jsonl` prints: the one source of both the types and the JSON Schema of `--print-schema`.
 * Only that schema needs the values of this file and of events/; everyone else imports types, so a run never loads zod
 * for them. Version 1: fields may be added, never renamed, and readers ignore types that they do not know. The
 * descriptions are a part of that schema, and docs/events.md is made of them.
 */
const ownEvents = [
  startSchema,
  ...turnEvents,
  ...callEvents,
  ...verifyEvents,
  ...requestEvents,
  ...progressEvents,
] as const;

const agent = z
  .strictObject({
    type: z.literal("agent"),
    agent: z
      .strictObject({ id: z.string().describe("Its id in the run"), name: z.string().describe("Its definition") })
      .describe("The agent"),
    event: z.discriminatedUnion("type", [...ownEvents, agentEndSchema]).describe("Any of these events"),
  })
  .describe("An event of an agent that the model started: the first is its `session.start`, the last its `end`");

const events = [...ownEvents, agent, ...questionEvents, ...shellEvents, ...submissionEvents, endSchema] as const;

const eventSchema = z.discriminatedUnion("type", events);

export type Event = z.infer<typeof eventSchema>;
export type EventOf<T extends Event["type"]> = Extract<Event, { type: T }>;
export type Notice = EventOf<"notice">;
export type AgentEvent = EventOf<"agent">["event"];
export type Figures = z.infer<typeof eventFields.figures>;

/** Events that no step of the loop yields itself: tool output, notices, connections. */
export type Events = Mailbox<Event>;

const envelope = {
  v: z.literal(1).describe("The version of the format"),
  seq: eventFields.count.describe("The number of the line, from 0, without gaps"),
  at: z.iso.datetime().describe("When it was written"),
  submission: z.string().optional().describe("In a chat, the submission that began the turn"),
};

/** One line of `--output jsonl`: the envelope, then the fields of the event. */
export type Line = { v: 1; seq: number; at: string; submission?: string | undefined } & Event;

/** The compiler gives up on so large a union of shapes. */
const lineOf = (event: z.ZodObject): z.ZodType =>
  z.strictObject({ ...envelope, ...event.shape }).describe(event.description ?? "");

export const lineSchema = z.union(events.map(lineOf)) as z.ZodType<Line>;

/** The JSON Schema of a line, for `--print-schema`. */
export function lineJsonSchema(): unknown {
  return z.toJSONSchema(lineSchema, { target: "draft-2020-12" });
}
