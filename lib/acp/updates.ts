import type { ClientCapabilities, SessionUpdate } from "@agentclientprotocol/sdk";
import type { Event, EventOf } from "../engine/event.ts";
import type { TodoItem } from "../session/todo.ts";
import { Calls } from "./calls.ts";

/** A session as a client shows it: events as updates. */
export class Updates {
  readonly calls: Calls;
  readonly #capabilities: NonNullable<ClientCapabilities["session"]>;
  /** Pieces with the same id are one message. */
  #message = crypto.randomUUID();
  #compactions = 0;

  constructor(cwd: string, capabilities: ClientCapabilities) {
    this.calls = new Calls(cwd);
    this.#capabilities = capabilities.session ?? {};
  }

  of(event: Event): SessionUpdate | undefined {
    switch (event.type) {
      case "text.delta":
        return this.#chunk("agent_message_chunk", event.text);
      case "thinking.delta":
        return this.#chunk("agent_thought_chunk", event.text);
      case "tool.start":
        return this.calls.start(event);
      case "tool.end":
        return this.calls.end(event);
      case "verify.start":
        return this.calls.start({ id: verification, tool: "Verify", input: { command: event.command }, isOwn: true });
      case "verify.end":
        return this.calls.end({ ...event, id: verification, ok: event.passed });
      case "todo":
        return planOf(event.items);
      case "usage":
        this.#endMessage();
        return usageOf(event);
      case "compact":
        return this.#compactionOf(event);
      case "notice":
        return this.#noticeOf(event);
      case "retry":
        this.#endMessage();
        return this.#noticeOf({
          level: "info",
          message: `${event.message} (attempt ${event.attempt} of ${event.max})`,
        });
      default:
        return undefined;
    }
  }

  /** A reply is over, whether it had text or only thoughts. */
  #endMessage(): void {
    this.#message = crypto.randomUUID();
  }

  #chunk(sessionUpdate: "agent_message_chunk" | "agent_thought_chunk", text: string): SessionUpdate {
    return { sessionUpdate, content: { type: "text", text }, messageId: this.#message };
  }

  #compactionOf({ kind, before_tokens, after_tokens }: EventOf<"compact">): SessionUpdate | undefined {
    if (!this.#capabilities.compaction || kind === "micro") return undefined;
    const text = `${before_tokens} → ${after_tokens} tokens`;
    const compactionId = `compaction-${++this.#compactions}`;
    return { sessionUpdate: "compaction_update", compactionId, status: "completed", summary: [{ type: "text", text }] };
  }

  #noticeOf({ level, message }: Pick<EventOf<"notice">, "level" | "message">): SessionUpdate | undefined {
    if (!this.#capabilities.notices) return undefined;
    return { sessionUpdate: "notice", severity: level === "warn" ? "warning" : level, title: message };
  }
}

const verification = "verify";

export function planOf(items: readonly TodoItem[]): SessionUpdate {
  const entries = items.map(({ text, status }) => ({
    content: text,
    priority: "medium" as const,
    status: status === "done" ? ("completed" as const) : status,
  }));
  return { sessionUpdate: "plan", entries };
}

/** A client wants to know how full the window is: without a figure there is nothing to tell. */
function usageOf({ context, cost_usd }: EventOf<"usage">): SessionUpdate | undefined {
  if (context.used === null) return undefined;
  const cost = cost_usd === undefined ? undefined : { amount: cost_usd, currency: "USD" };
  return { sessionUpdate: "usage_update", used: context.used, size: context.window, ...(cost && { cost }) };
}
