import { isRecord, type JsonRecord, parseJson, recordIn, stringIn } from "../config/json.ts";
import { signatureIn } from "./chat-thought.ts";
import type { CallPart } from "./message.ts";
import type { ModelInfo } from "./model.ts";

type PartialCall = { index: unknown; id: string; tool: string; arguments: string; extra: JsonRecord };

/**
 * The calls of a streamed reply. They come in fragments whose `index` names the call; but servers leave the index out,
 * give all calls the same one, repeat the id and the name, send them late, or repeat complete arguments.
 */
export class FragmentedCalls {
  #calls: PartialCall[] = [];

  add(fragment: JsonRecord): void {
    const named = recordIn(fragment, "function");
    const id = stringIn(fragment, "id") ?? "";
    const tool = stringIn(named, "name") ?? "";
    const call = this.#continued(fragment.index, id, tool) ?? this.#start(fragment.index);

    if (call.id === "") call.id = id;
    if (call.tool === "") call.tool = tool;
    if (isRecord(fragment.extra_content)) call.extra = fragment;
    const text = argumentsText(named.arguments);
    if (!isRepetition(call.arguments, text)) call.arguments += text;
  }

  all(info: ModelInfo): CallPart[] {
    return this.#calls.map(({ id, tool, arguments: text, extra }) => ({
      type: "call",
      id,
      tool,
      arguments: text.trim() === "" ? "{}" : text,
      ...signatureIn(extra, info),
    }));
  }

  /** The call that a fragment continues; undefined when it starts one. */
  #continued(index: unknown, id: string, tool: string): PartialCall | undefined {
    const known =
      id === "" ? undefined : this.#calls.findLast((call) => call.id === id && sameIndex(call.index, index));
    if (known !== undefined) return known;
    const last = this.#calls.findLast((call) => sameIndex(call.index, index));
    if (last === undefined) return undefined;
    if (id !== "" && last.id !== "") return undefined;
    // Without ids, a second name after complete arguments is the next call.
    const isNext = tool !== "" && last.tool !== "" && last.arguments !== "" && parseJson(last.arguments) !== undefined;
    return isNext ? undefined : last;
  }

  #start(index: unknown): PartialCall {
    const call = { index, id: "", tool: "", arguments: "", extra: {} };
    this.#calls.push(call);
    return call;
  }
}

function sameIndex(known: unknown, index: unknown): boolean {
  return typeof index !== "number" || typeof known !== "number" || known === index;
}

/** Some servers send the arguments as an object instead of JSON text. */
function argumentsText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** The same object twice is not JSON, so the server repeated it. */
function isRepetition(soFar: string, text: string): boolean {
  return text.startsWith("{") && text === soFar;
}
