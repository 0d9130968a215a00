import { parseJson } from "../config/json.ts";
import { counted, withCommas } from "../counted.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import { sessionJson } from "./json.ts";
import type { SessionInfo } from "./log.ts";

/** A session to write, with the version of the koda that writes it. */
export type WrittenSession = { info: SessionInfo; items: Iterable<LoggedItem>; version: string };

/** Writes a document piece by piece: a long session is never in memory as a whole. */
export type DocumentWriter = (session: WrittenSession) => Iterable<string>;

/** Why a turn stopped early; undefined when it did not. */
export function endingOf({ reason, error }: ItemOf<"turn_end">): string | undefined {
  if (reason === "complete") return undefined;
  return `The turn ended early (${error === undefined ? reason : `${reason}: ${error.message}`})`;
}

export function markerOf(item: ItemOf<"compaction"> | ItemOf<"rollback">): string {
  if (item.kind === "compaction") return "Compacted: from here on the model sees a summary of what came before";
  return `Rolled back ${counted(item.turns, "turn")}`;
}

/** The arguments of a call; the model's own text where that is not JSON. */
export function argumentsOf(json: string): unknown {
  return parseJson(json) ?? json;
}

export function figuresOf(info: SessionInfo): (readonly [name: string, value: string])[] {
  const { id, cwd, model, provider, created_at, updated_at, turns, tokens, costUsd, parent } = {
    ...info,
    ...sessionJson(info),
  };
  return [
    ["Session", id],
    ...(parent === undefined ? [] : [["Forked from", parent] as const]),
    ["Directory", cwd],
    ["Model", `${provider}/${model}`],
    ["Started", created_at],
    ["Last activity", updated_at],
    ["Turns", String(turns)],
    ...(tokens === null ? [] : [["Tokens", withCommas(tokens)] as const]),
    ...(costUsd === null ? [] : [["Cost", `$${costUsd.toFixed(4)}`] as const]),
  ];
}

export function titleOf({ title, id }: SessionInfo): string {
  return title === "" ? id : title;
}
