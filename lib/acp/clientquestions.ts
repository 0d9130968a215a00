import type {
  AgentContext,
  CreateElicitationRequest,
  RequestPermissionRequest,
  SendRequestOptions,
  SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { SubmissionOf } from "../chat/submission.ts";
import type { Submitter } from "../chat/submitter.ts";
import type { Event, EventOf } from "../engine/event.ts";
import { messageOf } from "../errors.ts";
import { isApproval } from "../trust/approvaldecision.ts";
import { connectTool } from "./calldetails.ts";
import type { Calls } from "./calls.ts";
import { callOf, chosenIn, permissionOptions } from "./permission.ts";

type QuestionOptions = {
  client: AgentContext;
  calls: Calls;
  submitter: Submitter;
  session: () => string;
  /** Ends the turn. */
  cancel: () => void;
  update: (update: SessionUpdate) => Promise<void>;
};

type FormRequest = Extract<CreateElicitationRequest, { mode: "form" }>;

type Approval = EventOf<"approval.request">;

/** Passes a chat's questions on to the client. One that is closed in another way is withdrawn there. */
export class ClientQuestions {
  readonly #options: QuestionOptions;
  readonly #open = new Map<string, AbortController>();
  /** The open questions about hosts. */
  readonly #hosts = new Set<string>();

  constructor(options: QuestionOptions) {
    this.#options = options;
  }

  async see(event: Event): Promise<void> {
    switch (event.type) {
      case "approval.request":
        return await this.#askForPermission(event);
      case "approval.decision":
        this.#withdraw(event.id);
        return await this.#endOfHost(event);
      case "question":
        return this.#ask(event);
      case "question.end":
        return this.#withdraw(event.id);
      case "elicitation.request":
        return this.#passOn(event);
      case "elicitation.decision":
        return this.#withdraw(event.id);
      default:
        return;
    }
  }

  async #askForPermission(asked: Approval): Promise<void> {
    const { client, calls, submitter, session, cancel, update } = this.#options;
    const { id, tool, input, rule, host, port } = asked;
    const call =
      host === undefined
        ? { id: callOf(id), tool, input }
        : { id, tool: connectTool, input: { url: `${host}:${port}` }, isOwn: true };
    const pending = calls.pending(call, `Needs your approval: ${rule}`);
    await update(pending.update);
    const options = permissionOptions(asked);
    const request: RequestPermissionRequest = { sessionId: session(), toolCall: pending.shown, options };
    if (host !== undefined) this.#hosts.add(id);
    this.#request(
      id,
      async (stop) => {
        const response: unknown = await client.request("session/request_permission", request, stop);
        const chosen = chosenIn(response);
        if (chosen === "cancelled") return cancel();
        const decision = asked.decisions.find((each) => each === chosen);
        if (decision === undefined) throw new Error("its answer is none of the options");
        void submitter.submit({ op: "approve", call: id, decision });
      },
      (reason) => {
        const feedback = `the client could not ask the user: ${reason}`;
        void submitter.submit({ op: "approve", call: id, decision: "deny", feedback });
      },
    );
  }

  /** No event of a call tells how a question about a host has ended. */
  async #endOfHost({ id, decision }: EventOf<"approval.decision">): Promise<void> {
    if (!this.#hosts.delete(id)) return;
    const ok = isApproval(decision);
    const ended = this.#options.calls.end({ id, ok, summary: ok ? "Allowed for this session" : "Not allowed" });
    if (ended !== undefined) await this.#options.update(ended);
  }

  #ask({ id, question, options }: EventOf<"question">): void {
    const { client, submitter, session } = this.#options;
    const choices = options.map((option) => ({ const: option, title: option }));
    const answer = { type: "string" as const, title: "Answer", ...(choices.length > 0 && { oneOf: choices }) };
    const request: CreateElicitationRequest = {
      sessionId: session(),
      mode: "form",
      message: question,
      requestedSchema: { type: "object", properties: { answer }, required: ["answer"] },
    };
    const reply = (text: string) => void submitter.submit({ op: "answer", question: id, text });
    this.#request(
      id,
      async (stop) => {
        const response = await client.request("elicitation/create", request, stop);
        const { answer: text } = ("content" in response ? (response.content ?? {}) : {}) as { answer?: unknown };
        reply(response.action === "accept" && typeof text === "string" && text !== "" ? text : noAnswer);
      },
      () => reply(noAnswer),
    );
  }

  /** A question of an MCP server. Values that do not match count as none: the client has checked them. */
  #passOn({ id, server, message, schema }: EventOf<"elicitation.request">): void {
    const { client, submitter, session } = this.#options;
    const answer = (answered: { decision: "accept" | "decline" | "cancel"; content?: object }) =>
      submitter.submit({ op: "elicit", server, request: id, ...answered } as SubmissionOf<"elicit">);
    if (schema === undefined) return void answer({ decision: "decline" });
    const request: CreateElicitationRequest = {
      sessionId: session(),
      mode: "form",
      message: `${server}: ${message}`,
      requestedSchema: schema as FormRequest["requestedSchema"],
    };
    this.#request(
      id,
      async (stop) => {
        const response = await client.request("elicitation/create", request, stop);
        const content = "content" in response ? (response.content ?? {}) : {};
        const isAccepted = response.action === "accept";
        const { status } = await answer(isAccepted ? { decision: "accept", content } : { decision: "decline" });
        if (status !== "done") void answer({ decision: "cancel" });
      },
      () => void answer({ decision: "cancel" }),
    );
  }

  #request(id: string, ask: (stop: SendRequestOptions) => Promise<void>, fail: (reason: string) => void): void {
    const stop = new AbortController();
    this.#open.set(id, stop);
    ask({ cancellationSignal: stop.signal, stopWaitingOnCancel: true })
      .catch((error: unknown) => {
        if (!stop.signal.aborted) fail(messageOf(error));
      })
      .finally(() => this.#open.delete(id));
  }

  #withdraw(id: string): void {
    this.#open.get(id)?.abort();
  }
}

const noAnswer = "(the user gave no answer)";
