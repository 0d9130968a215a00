import { type JsonRecord, parseJson, recordIn, stringIn } from "../config/json.ts";
import type { CallPart } from "./message.ts";

type Growing = { index: unknown; id: string; tool: string; arguments: string };

/**
 * The calls of a streamed reply. They come in fragments that say by `index` which call they belong to; but servers leave
 * the index out, give all calls the same one, repeat the id and the name, send them late, or repeat what was complete.
 */
export class FragmentedCalls {
  #calls: Growing[] = [];

  add(fragment: JsonRecord): void {
    const made = recordIn(fragment, "function");
    const id = stringIn(fragment, "id") ?? "";
    const tool = stringIn(made, "name") ?? "";
    const call = this.#belongsTo(fragment.index, id, tool) ?? this.#start(fragment.index);

    if (call.id === "") call.id = id;
    if (call.tool === "") call.tool = tool;
    const text = argumentsText(made.arguments);
    if (!isRepetition(call.arguments, text)) call.arguments += text;
  }

  all(): CallPart[] {
    return this.#calls.map(({ id, tool, arguments: text }) => ({
      type: "call",
      id,
      tool,
      arguments: text.trim() === "" ? "{}" : text,
    }));
  }

  /** The call that a fragment goes on with, if it does not start one. */
  #belongsTo(index: unknown, id: string, tool: string): Growing | undefined {
    const known =
      id === "" ? undefined : this.#calls.findLast((call) => call.id === id && sameIndex(call.index, index));
    if (known !== undefined) return known;
    const last = this.#calls.findLast((call) => sameIndex(call.index, index));
    if (last === undefined) return undefined;
    if (id !== "" && last.id !== "") return undefined;
    // A name where there is one already and the arguments are whole is the next call of a server without ids.
    const isNext = tool !== "" && last.tool !== "" && last.arguments !== "" && parseJson(last.arguments) !== undefined;
    return isNext ? undefined : last;
  }

  #start(index: unknown): Growing {
    const call = { index, id: "", tool: "", arguments: "" };
    this.#calls.push(call);
    return call;
  }
}

function sameIndex(known: unknown, index: unknown): boolean {
  return typeof index !== "number" || typeof known !== "number" || known === index;
}

/** JSON text, which a sloppy server has parsed already. */
function argumentsText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** Twice the same object is never JSON, so it is the same object said twice. */
function isRepetition(soFar: string, text: string): boolean {
  return text.startsWith("{") && text === soFar;
}
