import { agentLabel, AgentPlaces, type SessionReading, type WrittenAgent } from "./agents.ts";
import { endingOf, figuresOf, markerOf, titleOf, type DocumentWriter } from "./document.ts";
import { htmlOfCall, htmlOfResult } from "./htmlcall.ts";
import { pageHead } from "./htmlpage.ts";
import { style } from "./htmlstyle.ts";
import { escaped, htmlBlocks } from "./htmltext.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import { type Results, withResults } from "./replies.ts";
import { richText } from "./richtext.ts";

/** One file that needs nothing else. All text is escaped, and the page forbids itself scripts and the network. */
export const html: DocumentWriter = function* (session) {
  yield begin(session);
  yield* content(session, "h2");
  yield "</body>\n</html>\n";
};

/** The heading of a turn. */
type Heading = "h2" | "h3";

function* content(session: SessionReading, heading: Heading): Generator<string> {
  const places = new AgentPlaces(session);
  for (const { item, results } of withResults(session.items)) {
    if (item.kind === "assistant") yield* htmlOfReply(item, results, places);
    else yield htmlOf(item, heading);
    yield* htmlOfAgents(places.behind(item));
  }
  yield* htmlOfAgents(places.rest());
}

function* htmlOfAgents(agents: readonly WrittenAgent[]): Generator<string> {
  for (const agent of agents) {
    const label = `Agent ${escaped(agentLabel(agent))}`;
    if (agent.session === undefined) yield `<p class="ending">${label}</p>\n`;
    else {
      yield `<details class="agent"><summary>${label}</summary>\n`;
      yield* content(agent.session, "h3");
      yield "</details>\n";
    }
  }
}

function begin(session: SessionReading): string {
  const title = titleOf(session.info);
  const rows = figuresOf(session).map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`);
  return `${pageHead({ title, style, allows: "img-src data:" })}<h1>${escaped(title)}</h1>
<dl>${rows.join("")}</dl>
`;
}

function* htmlOfReply({ parts }: ItemOf<"assistant">, results: Results, places: AgentPlaces): Generator<string> {
  for (const part of parts) {
    if (part.type === "call") {
      const result = results.get(part.id);
      yield `${htmlOfCall(part, result)}\n`;
      yield* htmlOfAgents(places.behind(result));
    } else if (part.text !== "") yield htmlOfText(part);
  }
}

function htmlOfText({ type, text }: { type: "text" | "thinking"; text: string }): string {
  const shown = richText(text);
  if (type === "text") return `<section class="answer">${shown}</section>\n`;
  return `<details class="thinking"><summary>Thinking</summary>${shown}</details>\n`;
}

function htmlOf(item: Exclude<LoggedItem, { kind: "assistant" }>, heading: Heading): string {
  switch (item.kind) {
    case "turn_start":
      return `<${heading}>Turn ${item.turn} ${timeOf(new Date(item.at).toISOString())}</${heading}>\n`;
    case "user":
      return `<section class="prompt">${htmlBlocks(item.parts)}</section>\n`;
    case "result":
      return `${htmlOfResult(item)}\n`;
    case "turn_end": {
      const ending = endingOf(item);
      return ending === undefined ? "" : `<p class="ending">${escaped(ending)}</p>\n`;
    }
    case "rollback":
    case "compaction":
      return `<p class="ending">${escaped(markerOf(item))}</p>\n`;
    case "environment":
    case "note":
    case "todo":
    case "trim":
    case "images_removed":
      return "";
    default:
      return item satisfies never;
  }
}

/** As `2026-11-18 12:00 UTC`: a page without scripts does not know its reader's time zone. */
function timeOf(at: string): string {
  return `<time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 16)} UTC</time>`;
}
