import type { AssistantMessage, Message, ToolMessage, UserMessage } from "../model/message.ts";
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
    return this.#open === undefined ? [...this.#closed] : [...this.#closed, ...this.#open.messages()];
  }

  #say(message: UserMessage): void {
    if (message.parts.length === 0) return;
    if (this.#open === undefined) this.#closed.push(message);
    else this.#open.later.push(message);
  }

  /** Providers refuse a reply without text or calls, such as one that was cut off while the model was thinking. */
  #reply({ parts }: ItemOf<"assistant">): void {
    if (!parts.some((part) => part.type === "call" || (part.type === "text" && part.text !== ""))) return;
    this.#open = new OpenReply(parts, this.#ids);
  }

  /** No results come after the next reply or the end of the turn. */
  #close(): void {
    if (this.#open !== undefined) this.#closed.push(...this.#open.messages());
    this.#open = undefined;
  }
}

type Call = { recordedId: string; id: string; tool: string; result: ItemOf<"result"> | undefined };

/** A reply whose results may still arrive, in any order. */
class OpenReply {
  readonly later: UserMessage[] = [];
  readonly #message: AssistantMessage;
  readonly #calls: Call[] = [];

  constructor(parts: AssistantMessage["parts"], ids: Set<string>) {
    this.#message = {
      role: "assistant",
      parts: parts.map((part) => {
        if (part.type !== "call") return part;
        const id = uniqueId(part.id, ids);
        this.#calls.push({ recordedId: part.id, id, tool: part.tool, result: undefined });
        return id === part.id ? part : { ...part, id };
      }),
    };
  }

  /** The first result for an id belongs to the first call with that id; a result without a call is dropped. */
  take(result: ItemOf<"result">): void {
    const call = this.#calls.find(({ recordedId, result: taken }) => recordedId === result.call && taken === undefined);
    if (call !== undefined) call.result = result;
  }

  messages(): Message[] {
    return [this.#message, ...this.#calls.map(toolMessage), ...this.later];
  }
}

function toolMessage({ id, tool, result }: Call): ToolMessage {
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
