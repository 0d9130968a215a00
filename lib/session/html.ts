import { type Block, figuresOf, type Section, sectionsOf, titleOf, type Writer } from "./document.ts";

/** One file that needs nothing else. All text is escaped, and the page forbids itself scripts and the network. */
export const html: Writer = {
  begin: (info) => {
    const title = escaped(titleOf(info));
    const rows = figuresOf(info).map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`);
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<h1>${title}</h1>
<dl>${rows.join("")}</dl>
`;
  },
  item: (item) =>
    sectionsOf(item)
      .map((section) => `${htmlOf(section)}\n`)
      .join(""),
  end: "</body>\n</html>\n",
};

function htmlOf(section: Section): string {
  switch (section.type) {
    case "turn":
      return `<h2>Turn ${section.turn} <time>${escaped(section.at)}</time></h2>`;
    case "prompt":
    case "answer":
    case "ending":
      return `<section class="${section.type}">${section.blocks.map(htmlBlock).join("")}</section>`;
    case "thinking":
      return `<details><summary>Thinking</summary>${section.blocks.map(htmlBlock).join("")}</details>`;
    case "call":
    case "result":
      return `<details><summary>${escaped(section.heading)}</summary>${section.blocks.map(htmlBlock).join("")}</details>`;
    default:
      return section satisfies never;
  }
}

function htmlBlock(block: Block): string {
  if ("text" in block) return `<pre>${escaped(block.text)}</pre>`;
  const { mime, base64 } = block.image;
  return `<img alt="image" src="data:${escaped(mime)};base64,${escaped(base64)}">`;
}

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-top: 1px solid #8886; padding-top: 1rem; }
time { font-size: 0.8rem; font-weight: normal; opacity: 0.7; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; font-size: 0.9rem; }
dd { margin: 0; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.5rem 0; }
img { max-width: 100%; }
details { margin: 0.5rem 0; padding: 0 0.75rem; border-left: 3px solid #8886; }
summary { cursor: pointer; font-family: monospace; }
.prompt { padding: 0.25rem 1rem; background: #8882; border-radius: 0.5rem; }
.prompt pre, .answer pre { font-family: inherit; }
.ending { font-style: italic; opacity: 0.8; }
`;

/** For text and for quoted attributes alike. */
function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
