import { arrayIn, isRecord, type JsonRecord, recordIn, recordOf, stringIn } from "../config/json.ts";
import type { ThinkingPart } from "./message.ts";
import type { ModelInfo } from "./model.ts";
import { type SealedField, tokenOf } from "./thought.ts";

/** A thought as it arrives in Chat Completions, where every server has a field of its own for it. */
export class ChatThought {
  #text = "";
  #field: SealedField | undefined;
  #details: JsonRecord[] = [];

  /** Adds what a delta has of a thought; returns the text that people may read. */
  add(delta: JsonRecord): string {
    const { reasoning_content, reasoning, thinking, reasoning_details } = delta;
    // Most deltas have none of them.
    if (!(reasoning_content || reasoning || thinking || reasoning_details)) return "";
    const field = textFields.find((name) => isText(delta[name]));
    const details = arrayIn(delta, "reasoning_details").filter(isRecord);
    for (const detail of details) this.#addDetail(detail);
    const text = field === undefined ? details.map(textOfDetail).join("") : plainText(delta[field]);
    if (text !== "") this.#field ??= field;
    this.#text += text;
    return text;
  }

  /** The thought so far, which ends here. */
  take(info: ModelInfo): ThinkingPart | undefined {
    const [text, field, details] = [this.#text, this.#field, this.#details];
    if (field === undefined && details.length === 0) return undefined;
    [this.#text, this.#field, this.#details] = ["", undefined, []];
    // The details, where there are any, have all of it, with signatures.
    const value = details.length > 0 ? JSON.stringify(details) : "";
    const sealed = { field: value === "" && field !== undefined ? field : "reasoning_details", value } as const;
    return { type: "thinking", text, token: tokenOf(sealed, info) };
  }

  /** A detail comes in pieces, of which the last has the signature. */
  #addDetail(piece: JsonRecord): void {
    const last = this.#details.at(-1);
    const continues = last !== undefined && last.type === piece.type && last.index === piece.index;
    if (!continues || piece.type === "reasoning.encrypted") {
      this.#details.push(piece);
      return;
    }
    const joined = { ...last, ...withoutNulls(piece) };
    for (const key of ["text", "summary"])
      if (typeof piece[key] === "string") Object.assign(joined, { [key]: (stringIn(last, key) ?? "") + piece[key] });
    this.#details[this.#details.length - 1] = joined;
  }
}

/** A server may send the text twice, under two of these names. */
const textFields = ["reasoning_content", "reasoning", "thinking"] as const;

function isText(value: unknown): boolean {
  return typeof value === "string" ? value !== "" : Array.isArray(value);
}

/** A part of content has its thought as a list of texts. */
function plainText(value: unknown): string {
  if (!Array.isArray(value)) return typeof value === "string" ? value : "";
  return value.map((piece) => stringIn(recordOf(piece), "text") ?? "").join("");
}

function textOfDetail(detail: JsonRecord): string {
  return stringIn(detail, "text") ?? stringIn(detail, "summary") ?? "";
}

function withoutNulls(record: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}

/** Google signs calls, and the text of a reply without any, in a field that other servers do not have. */
export function signatureIn(record: JsonRecord, info: ModelInfo): { token?: string } {
  if (record.extra_content === undefined) return {};
  const extra = recordIn(record, "extra_content");
  const isSigned = Object.values(extra).some((vendor) => isRecord(vendor) && "thought_signature" in vendor);
  return isSigned ? { token: tokenOf({ field: "extra_content", value: JSON.stringify(extra) }, info) } : {};
}
