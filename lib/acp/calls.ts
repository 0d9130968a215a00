import type { SessionUpdate, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { visible } from "../visible.ts";
import { type CallDetails, detailsOf } from "./calldetails.ts";
import { fenced, textContent } from "./content.ts";

type StartedCall = {
  id: string;
  tool: string;
  input: unknown;
  /** It is a call of koda's own, whose ids come again. Those of the model's are unique in a session. */
  isOwn?: boolean;
};
type EndedCall = { id: string; ok: boolean; summary: string };
type Known = { id: string; details: CallDetails; output: string };

/** The most of a running command's output that a client is shown. */
const mostOutput = 8 * 1024;

/** The calls of a session that a client is shown. */
export class Calls {
  readonly #cwd: string;
  readonly #known = new Map<string, Known>();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** A call that waits for the user's approval, as the request for that shows it. */
  pending(call: StartedCall, reason: string): { update: SessionUpdate; shown: ToolCallUpdate } {
    const { id, details } = this.#add(call);
    const content = [...details.content, textContent(reason)];
    const shown = { toolCallId: id, ...details, content, status: "pending" as const };
    return { update: { sessionUpdate: "tool_call", ...shown }, shown };
  }

  start(call: StartedCall): SessionUpdate {
    const known = this.#known.get(call.id);
    if (known !== undefined) return this.#update(known, { status: "in_progress", content: known.details.content });
    const { id, details } = this.#add(call);
    return { sessionUpdate: "tool_call", toolCallId: id, ...details, status: "in_progress" };
  }

  /** Adds output; false when nobody knows the call. */
  addOutput(id: string, text: string): boolean {
    const known = this.#known.get(id);
    if (known === undefined) return false;
    known.output = (known.output + text).slice(-mostOutput);
    return true;
  }

  /** The end of the output so far; undefined when the call is over. */
  outputOf(id: string): SessionUpdate | undefined {
    const known = this.#known.get(id);
    return known && this.#update(known, { content: [fenced(visible(known.output))] });
  }

  end({ id, ok, summary }: EndedCall): SessionUpdate | undefined {
    const known = this.#known.get(id);
    if (known === undefined) return undefined;
    this.#known.delete(id);
    const { content, kind } = known.details;
    const text = visible(summary);
    const said: ToolCallContent = kind === "execute" || kind === "read" ? fenced(text) : textContent(text);
    return this.#update(known, {
      status: ok ? "completed" : "failed",
      // An edit that was made is shown by its changes, and one that was not by its reason.
      content: ok && content.length > 0 ? content : [said],
    });
  }

  /** Those that have not ended. */
  get open(): string[] {
    return [...this.#known.keys()];
  }

  #add({ id, isOwn = false, ...call }: StartedCall): Known {
    const known = { id: isOwn ? crypto.randomUUID() : id, details: detailsOf(call, this.#cwd), output: "" };
    this.#known.set(id, known);
    return known;
  }

  #update({ id }: Known, change: Omit<ToolCallUpdate, "toolCallId">): SessionUpdate {
    return { sessionUpdate: "tool_call_update", toolCallId: id, ...change };
  }
}
