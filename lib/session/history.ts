import type { AssistantMessage, CallPart, Message, ToolMessage, UserMessage } from "../model/message.ts";
import type { Item, ItemOf } from "./item.ts";

const noResult = "[interrupted: no result was recorded]";

/**
 * The messages for the model: a function of the log's items, in a form that every provider accepts however the log was
 * cut off. Each call has exactly one result, right behind its reply and in the order of the calls; every id occurs
 * once. The messages for the first n items are the beginning of those for more, once a reply is closed. Items are added
 * one by one, so that a request does not read a long conversation again.
 */
export class History {
  readonly #closed: Message[] = [];
  readonly #ids = new Set<string>();
  #open: OpenReply | undefined;

  add(item: Item): void {
    switch (item.kind) {
      case "compaction":
        this.#close();
        this.#say({ role: "user", parts: [{ type: "text", text: item.text }] });
        break;
      case "environment":
      case "note":
        this.#say({ role: "user", parts: item.text === "" ? [] : [{ type: "text", text: item.text }] });
        break;
      case "user":
        this.#say({ role: "user", parts: item.parts });
        break;
      case "assistant":
        this.#close();
        this.#reply(item);
        break;
      case "result":
        this.#open?.take(item);
        break;
      case "turn_start":
      case "turn_end":
        this.#close();
        break;
      case "todo":
      case "trim":
      case "images_removed":
      case "rollback":
        break;
      default:
        item satisfies never;
    }
  }

  messages(): Message[] {
    const messages = [...this.#closed];
    this.#open?.addTo(messages);
    return messages;
  }

  #say(message: UserMessage): void {
    if (message.parts.length === 0) return;
    if (this.#open === undefined) this.#closed.push(message);
    else (this.#open.later ??= []).push(message);
  }

  /** Providers refuse a reply without text or calls, such as one that was cut off while the model was thinking. */
  #reply({ parts }: ItemOf<"assistant">): void {
    let says = false;
    for (const part of parts) {
      if (part.type === "call") {
        this.#open = new OpenReply(parts, this.#ids);
        return;
      }
      says ||= part.type === "text" && part.text !== "";
    }
    if (says) this.#closed.push({ role: "assistant", parts });
  }

  /** No results come after the next reply or the end of the turn. */
  #close(): void {
    this.#open?.addTo(this.#closed);
    this.#open = undefined;
  }
}

type Call = { part: CallPart; id: string; result: ItemOf<"result"> | undefined };

/** A reply with calls whose results may still arrive, in any order. */
class OpenReply {
  later: UserMessage[] | undefined;
  readonly #message: AssistantMessage;
  readonly #calls: Call[] = [];

  constructor(parts: AssistantMessage["parts"], ids: Set<string>) {
    let shown = parts;
    for (const part of parts) {
      if (part.type !== "call") continue;
      const id = uniqueId(part.id, ids);
      this.#calls.push({ part, id, result: undefined });
      if (id !== part.id) shown = shown.map((one) => (one === part ? { ...part, id } : one));
    }
    this.#message = { role: "assistant", parts: shown };
  }

  /** The first result for an id belongs to the first call with that id; a result without a call is dropped. */
  take(result: ItemOf<"result">): void {
    for (const call of this.#calls) {
      if (call.part.id !== result.call || call.result !== undefined) continue;
      call.result = result;
      return;
    }
  }

  addTo(messages: Message[]): void {
    messages.push(this.#message);
    for (const call of this.#calls) messages.push(toolMessage(call));
    if (this.later !== undefined) messages.push(...this.later);
  }
}

function toolMessage({ part: { tool }, id, result }: Call): ToolMessage {
  if (result === undefined)
    return { role: "tool", call: id, tool, ok: false, parts: [{ type: "text", text: noResult }] };
  return { role: "tool", call: id, tool, ok: result.ok, parts: result.parts };
}

/** Some providers number their calls from the start in each reply, and a model may use one id twice. */
function uniqueId(recorded: string, ids: Set<string>): string {
  const base = recorded === "" ? "call" : recorded;
  let id = base;
  for (let n = 2; ids.has(id); n++) id = `${base}_${n}`;
  ids.add(id);
  return id;
}
