import type { ImagePart, TextPart } from "../model/message.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import type { SessionInfo } from "./log.ts";
import { sessionJson } from "./json.ts";
import { headingOf } from "./transcript.ts";

/** A document as what comes before the items, what each of them becomes, and what comes after. */
export type DocumentWriter = {
  begin(info: SessionInfo): string;
  items(items: readonly LoggedItem[]): Iterable<string>;
  end: string;
};

/** The parts of an item that Markdown shows. Notes between koda and the model are left out. */
export type Section =
  | { type: "turn"; turn: number; at: string }
  | { type: "prompt" | "answer" | "thinking" | "ending"; blocks: readonly Block[] }
  | { type: "call"; heading: string; blocks: readonly Block[] }
  | { type: "result"; heading: string; blocks: readonly Block[] };
export type Block = { text: string } | { image: ImagePart };

export function sectionsOf(item: LoggedItem): Section[] {
  switch (item.kind) {
    case "turn_start":
      return [{ type: "turn", turn: item.turn, at: item.at }];
    case "user":
      return [{ type: "prompt", blocks: blocksOf(item.parts) }];
    case "assistant":
      return item.parts.filter((part) => part.type === "call" || part.text !== "").map(sectionOfPart);
    case "result":
      return [{ type: "result", heading: headingOf(item), blocks: blocksOf(item.parts) }];
    case "turn_end": {
      const ending = endingOf(item);
      return ending === undefined ? [] : [{ type: "ending", blocks: [{ text: ending }] }];
    }
    case "environment":
    case "note":
    case "todo":
      return [];
    default:
      return item satisfies never;
  }
}

/** Why a turn that did not come to its end stopped. */
export function endingOf({ reason, error }: ItemOf<"turn_end">): string | undefined {
  if (reason === "complete") return undefined;
  return `The turn ended early (${error === undefined ? reason : `${reason}: ${error.message}`})`;
}

function sectionOfPart(part: ItemOf<"assistant">["parts"][number]): Section {
  if (part.type === "call") return { type: "call", heading: part.tool, blocks: [{ text: readable(part.arguments) }] };
  return { type: part.type === "text" ? "answer" : "thinking", blocks: [{ text: part.text }] };
}

function blocksOf(parts: readonly (TextPart | ImagePart)[]): Block[] {
  return parts.map((part) => (part.type === "text" ? { text: part.text } : { image: part }));
}

/** Arguments as the model wrote them, laid out if they are JSON. */
function readable(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2);
  } catch (error) {
    if (error instanceof SyntaxError) return json;
    throw error;
  }
}

export function figuresOf(info: SessionInfo): (readonly [name: string, value: string])[] {
  const { id, cwd, model, provider, created_at, updated_at, turns, tokens, parent } = { ...info, ...sessionJson(info) };
  return [
    ["Session", id],
    ...(parent === undefined ? [] : [["Forked from", parent] as const]),
    ["Directory", cwd],
    ["Model", `${provider}/${model}`],
    ["Started", created_at],
    ["Last activity", updated_at],
    ["Turns", String(turns)],
    ...(tokens === null ? [] : [["Tokens", tokens.toLocaleString("en")] as const]),
  ];
}

export function titleOf({ title, id }: SessionInfo): string {
  return title === "" ? id : title;
}
