import { type CallPart, type Message, textOf, type ThinkingPart } from "../model/message.ts";
import type { FinishReason, ModelEvent, Usage } from "../model/model.ts";
import type { Item } from "../session/item.ts";
import type { Event } from "./event.ts";

export type Reply = {
  text: string;
  calls: readonly CallPart[];
  finish: FinishReason;
  item: Extract<Item, { kind: "assistant" }>;
};

/** A reply as it arrives. */
export class Gathering {
  /** The text of this attempt so far. */
  text = "";
  /** The length of this attempt so far, with thoughts and arguments. */
  received = 0;
  /** Set by the end event. */
  reply: Reply | undefined;
  #parts: Part[] = [];
  /** The position in `text` where the current part begins. */
  #partStart = 0;
  readonly #messages: readonly Message[];
  #takenIds: Set<string> | undefined;

  /** `messages` are those of the request. */
  constructor(messages: readonly Message[]) {
    this.#messages = messages;
  }

  /** Adds a model event; returns the event to announce, if any. */
  add(event: ModelEvent): Event | undefined {
    switch (event.type) {
      case "text":
        if (event.text === "") return undefined;
        this.text += event.text;
        this.received += event.text.length;
        return { type: "text.delta", text: event.text };
      case "thinking":
        this.received += event.text.length;
        return { type: "thinking.delta", text: event.text };
      case "thought":
        this.#addPart(event.part);
        return undefined;
      case "call":
        this.received += event.call.arguments.length;
        this.#addPart(withFreshId(event.call, (this.#takenIds ??= takenIds(this.#messages))));
        return undefined;
      case "retry":
        // Nothing of a broken attempt is executed, kept, or counted as the answer.
        this.#parts = [];
        this.text = "";
        this.received = 0;
        this.#partStart = 0;
        return retryEvent(event);
      case "end":
        this.reply = this.#whole(event.reason, event.usage);
        return undefined;
      default:
        return event satisfies never;
    }
  }

  #addPart(part: Part): void {
    this.#endText();
    this.#parts.push(part);
  }

  #endText(): void {
    const text = this.text.slice(this.#partStart);
    if (text !== "") this.#parts.push({ type: "text", text });
    this.#partStart = this.text.length;
  }

  #whole(finish: FinishReason, usage: Usage): Reply {
    this.#endText();
    const parts = this.#parts;
    const calls = parts.filter((part) => part.type === "call");
    const text = textOf({ role: "assistant", parts });
    return { text, calls, finish, item: { kind: "assistant", parts, finish, usage } };
  }
}

type Part = { type: "text"; text: string } | ThinkingPart | CallPart;

/**
 * Results are paired to calls by id, in the log and by the provider, so an id that is missing, too long for some
 * providers, or used before is replaced.
 */
function withFreshId(call: CallPart, taken: Set<string>): CallPart {
  let { id } = call;
  for (let n = taken.size + 1; id === "" || id.length > 64 || taken.has(id); n++) id = `call_${n}`;
  taken.add(id);
  return { ...call, id };
}

function takenIds(messages: readonly Message[]): Set<string> {
  return new Set(messages.flatMap((message) => (message.role === "tool" ? [message.call] : [])));
}

function retryEvent({ attempt, max, delayMs, code, message, reason }: Extract<ModelEvent, { type: "retry" }>): Event {
  return { type: "retry", attempt, max, delay_ms: delayMs, code, message, reason };
}
