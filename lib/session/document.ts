import { parseJson } from "../config/json.ts";
import { counted } from "../counted.ts";
import type { SessionReading } from "./agents.ts";
import type { ItemOf } from "./item.ts";
import { sessionJson } from "./json.ts";
import type { SessionInfo } from "./log.ts";

/** A session to write, with the version of the koda that writes it. */
export type WrittenSession = SessionReading & { version: string };

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

/** Those of its agents are counted in. */
export function figuresOf({ info, total, agents }: SessionReading): (readonly [name: string, value: string])[] {
  const { id, cwd, model, provider, created_at, updated_at, turns, tokens, costUsd } = {
    ...total,
    ...sessionJson(total),
  };
  return [
    ["Session", id],
    ...originOf(info),
    ["Directory", cwd],
    ["Model", `${provider}/${model}`],
    ["Started", created_at],
    ["Last activity", updated_at],
    ["Turns", String(turns)],
    ...(agents.length === 0 ? [] : [["Agents", String(agents.length)] as const]),
    ...(tokens === null ? [] : [["Tokens", tokens.toLocaleString("en")] as const]),
    ...(costUsd === null ? [] : [["Cost", `$${costUsd.toFixed(4)}`] as const]),
  ];
}

function originOf({ parent, agent }: SessionInfo): (readonly [name: string, value: string])[] {
  if (agent !== undefined) return [["Agent", `${agent} of ${parent ?? ""}`]];
  return parent === undefined ? [] : [["Forked from", parent]];
}

export function titleOf({ title, id }: SessionInfo): string {
  return title === "" ? id : title;
}
