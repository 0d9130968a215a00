import { counted } from "../counted.ts";
import { agentLabel, itemsAndAgents, type SessionReading, type WrittenAgent } from "./agents.ts";
import { textOfParts } from "./content.ts";
import type { ItemOf, LoggedItem } from "./item.ts";

/** Items as plain text for reading: each under a heading that names its author. */
export function* passagesOf(items: Iterable<LoggedItem>): Generator<string, void> {
  for (const item of items) {
    const passage = passageOf(item);
    if (passage !== "") yield passage;
  }
}

/** Those of a session, and those of its agents indented. */
export function* passagesWithAgents(session: SessionReading): Generator<string, void> {
  for (const item of itemsAndAgents(session)) yield* item.kind === "agent" ? passagesOfAgent(item) : passagesOf([item]);
}

function* passagesOfAgent(agent: WrittenAgent): Generator<string, void> {
  yield `[agent ${agentLabel(agent)}]`;
  if (agent.session === undefined) return;
  for (const text of passagesWithAgents(agent.session)) yield text.replaceAll(/^(?=.)/gm, "  ");
}

function passageOf(item: LoggedItem): string {
  switch (item.kind) {
    case "user":
      return passage("user", textOfParts(item.parts));
    case "assistant":
      return item.parts
        .map((part) => {
          if (part.type === "call") return passage(`call ${part.tool}`, part.arguments);
          return passage(part.type === "text" ? "assistant" : "thinking", part.text);
        })
        .filter((part) => part !== "")
        .join("\n\n");
    case "result":
      return `[${headingOf(item)}]\n${textOfParts(item.parts)}`;
    case "environment":
    case "note":
      return passage("koda", item.text);
    case "todo":
      return passage("todo", item.items.map(({ text, status }) => `- ${status}: ${text}`).join("\n"));
    case "compaction":
      return passage("compacted", item.text);
    case "rollback":
      return passage("rolled back", counted(item.turns, "turn"));
    case "turn_start":
    case "trim":
    case "images_removed":
      return "";
    case "turn_end":
      return item.reason === "complete" ? "" : passage(`turn ended: ${item.reason}`, item.error?.message ?? "-");
    default:
      return item satisfies never;
  }
}

/** The outcome of a call in a few words. */
export function headingOf({ tool, ok, denied, exitCode, output }: ItemOf<"result">): string {
  const how = denied === undefined ? (ok ? "" : ", failed") : `, denied: ${denied}`;
  const code = exitCode === undefined ? "" : `, exit code ${exitCode}`;
  const stored = output === undefined ? "" : `, output ${output}`;
  return `result of ${tool}${how}${code}${stored}`;
}

function passage(heading: string, text: string): string {
  return text === "" ? "" : `[${heading}]\n${text}`;
}
