import { z } from "zod";
import { elicitationDecisions } from "../../tools/elicitation.ts";
import { approvalDecisions } from "../../trust/approvaldecision.ts";
import { eventFields } from "./fields.ts";

const { effect } = eventFields;

const approvalRequest = z
  .strictObject({
    type: z.literal("approval.request"),
    id: z.string().describe("The id of the call; that of the question when it is about a host"),
    tool: z.string().describe("The name of the tool; `network` when the question is about a host"),
    input: z.unknown().describe("The arguments of the call"),
    host: z.exactOptional(z.string()).describe("The host that a call wants to connect to"),
    port: z.exactOptional(z.int()).describe("Its port"),
    call: z.exactOptional(z.string()).describe("The id of that call, or of the user's own command"),
    effect,
    rule: z.string().describe("The rule by which it may not run without approval"),
    cwd: z.string().describe("The project's root"),
    preview: z.string().optional().describe("The change that the call would make, when its input does not show it"),
    prefix: z
      .string()
      .optional()
      .describe("The start of the command that the decision `prefix` would allow from now on"),
    decisions: z.array(z.enum(approvalDecisions)).describe("The decisions that are possible"),
  })
  .describe("A question to the user: may this call run, or may this host be reached? Only in a chat");

const approvalDecision = z
  .strictObject({
    type: z.literal("approval.decision"),
    id: z.string().describe("The id of the question"),
    decision: z.enum(approvalDecisions).describe("The decision"),
    feedback: z.string().optional().describe("The user's words for the model"),
  })
  .describe("A question about a call or a host was decided");

const question = z
  .strictObject({
    type: z.literal("question"),
    id: z.string().describe("The id of the question"),
    question: z.string().describe("The question"),
    options: z.array(z.string()).describe("Possible answers; another text is an answer too"),
  })
  .describe("A question to the user, of the model's or at a limit. Only in a chat");

const questionEnd = z
  .strictObject({
    type: z.literal("question.end"),
    id: z.string().describe("The id of the question"),
    answer: z.string().optional().describe("The answer; absent when there was none"),
  })
  .describe("The question was answered, or withdrawn");

const elicitationRequest = z
  .strictObject({
    type: z.literal("elicitation.request"),
    id: z.string().describe("The id by which `elicit` answers it"),
    server: z.string().describe("The name of the MCP server"),
    message: z.string().describe("The server's own words"),
    schema: z
      .exactOptional(z.record(z.string(), z.unknown()))
      .describe("The values that it asks for: a JSON Schema of a flat object"),
    url: z.exactOptional(z.string()).describe("The page that the user is to visit, in the place of values"),
    host: z.exactOptional(z.string()).describe("The host of that page, in ASCII"),
  })
  .describe("A question of an MCP server to the user, answered by `elicit`");

const elicitationDecision = z
  .strictObject({
    type: z.literal("elicitation.decision"),
    id: z.string().describe("That of the question"),
    decision: z.enum(elicitationDecisions).describe("`cancel` also when the call ended before there was an answer"),
  })
  .describe("The answer to it");

export const questionEvents = [
  approvalRequest,
  approvalDecision,
  question,
  questionEnd,
  elicitationRequest,
  elicitationDecision,
] as const;
