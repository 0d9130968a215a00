import type { ImagePart, TextPart } from "../model/message.ts";
import { agentLabel, itemsAndAgents, type SessionReading, type WrittenAgent } from "./agents.ts";
import { textOfPart } from "./content.ts";
import { argumentsOf, type DocumentWriter, endingOf, figuresOf, markerOf, titleOf } from "./document.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import { headingOf } from "./transcript.ts";

/** Notes between koda and the model are left out. */
export const markdown: DocumentWriter = function* (session) {
  const figures = figuresOf(session).map(([name, value]) => `- ${name}: \`${value.replaceAll("`", "'")}\``);
  yield `# ${inline(titleOf(session.info))}\n\n${figures.join("\n")}\n`;
  for (const section of sectionsOf(session, "##")) yield `\n${section}\n`;
};

function* sectionsOf(session: SessionReading, turn: "##" | "####"): Generator<string> {
  for (const item of itemsAndAgents(session))
    yield* item.kind === "agent" ? sectionsOfAgent(item) : sectionsOfItem(item, turn);
}

function* sectionsOfAgent(agent: WrittenAgent): Generator<string> {
  yield `### Agent ${inline(agentLabel(agent))}`;
  if (agent.session !== undefined) for (const section of sectionsOf(agent.session, "####")) yield quoted(section);
}

function sectionsOfItem(item: LoggedItem, turn: "##" | "####"): string[] {
  switch (item.kind) {
    case "turn_start":
      return [`${turn} Turn ${item.turn}\n\n*${new Date(item.at).toISOString()}*`];
    case "user":
      return [`**Prompt**\n\n${each(item.parts, quoted)}`];
    case "assistant":
      return item.parts.filter((part) => part.type === "call" || part.text !== "").map(sectionOfPart);
    case "result":
      return [`**${inline(headingOf(item))}**\n\n${each(item.parts, fenced)}`];
    case "turn_end": {
      const ending = endingOf(item);
      return ending === undefined ? [] : [`*${inline(ending)}*`];
    }
    case "rollback":
    case "compaction":
      return [`*${inline(markerOf(item))}*`];
    case "environment":
    case "note":
    case "todo":
    case "trim":
    case "images_removed":
      return [];
    default:
      return item satisfies never;
  }
}

function sectionOfPart(part: ItemOf<"assistant">["parts"][number]): string {
  if (part.type === "text") return part.text;
  if (part.type === "thinking") return `*Thinking*\n\n${quoted(part.text)}`;
  const input = argumentsOf(part.arguments);
  const text = typeof input === "string" ? input : JSON.stringify(input, undefined, 2);
  return `**${inline(part.tool)}**\n\n${fenced(text)}`;
}

function each(parts: readonly (TextPart | ImagePart)[], format: (text: string) => string): string {
  return parts.map((part) => format(textOfPart(part))).join("\n\n");
}

function quoted(text: string): string {
  return text.replace(/^/gm, "> ");
}

/** The fence is longer than any run of backticks in the text, so nothing in it can end it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** One line without markup of its own. */
function inline(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_[\]<>#|]/g, "\\$&");
}
