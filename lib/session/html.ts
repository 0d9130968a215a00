import { endingOf, figuresOf, markerOf, titleOf, type DocumentWriter } from "./document.ts";
import { htmlOfCall, htmlOfResult } from "./htmlcall.ts";
import { style } from "./htmlstyle.ts";
import { escaped, htmlBlocks } from "./htmltext.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import type { SessionInfo } from "./log.ts";
import { type Results, withResults } from "./replies.ts";
import { richText } from "./richtext.ts";

/** One file that needs nothing else. All text is escaped, and the page forbids itself scripts and the network. */
export const html: DocumentWriter = function* ({ info, items }) {
  yield begin(info);
  for (const { item, results } of withResults(items))
    yield item.kind === "assistant" ? htmlOfReply(item, results) : htmlOf(item);
  yield "</body>\n</html>\n";
};

function begin(info: SessionInfo): string {
  const title = escaped(titleOf(info));
  const rows = figuresOf(info).map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`);
  const styleHash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
  const rules = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${rules}">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<h1>${title}</h1>
<dl>${rows.join("")}</dl>
`;
}

function htmlOfReply({ parts }: ItemOf<"assistant">, results: Results): string {
  return parts
    .filter((part) => part.type === "call" || part.text !== "")
    .map((part) => {
      if (part.type === "call") return `${htmlOfCall(part, results.get(part.id))}\n`;
      const text = richText(part.text);
      return part.type === "text"
        ? `<section class="answer">${text}</section>\n`
        : `<details class="thinking"><summary>Thinking</summary>${text}</details>\n`;
    })
    .join("");
}

function htmlOf(item: Exclude<LoggedItem, { kind: "assistant" }>): string {
  switch (item.kind) {
    case "turn_start":
      return `<h2>Turn ${item.turn} ${timeOf(new Date(item.at).toISOString())}</h2>\n`;
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
