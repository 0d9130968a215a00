import { escaped } from "./htmltext.ts";

/** Longer or deeper Markdown takes too much time: each level of nesting copies its content. */
const mostCharacters = 100_000;
const deeplyNested = /^(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))){24}/m;

/**
 * A model's Markdown as HTML. Every tag is written here, and every leaf of text is escaped: HTML in the Markdown is
 * shown as text, images are named and not loaded, and only links to the web or a mail address are links.
 */
export function richText(markdown: string): string {
  if (markdown.length > mostCharacters || deeplyNested.test(markdown)) return `<pre>${escaped(markdown)}</pre>`;
  return Bun.markdown.render(markdown, elements, { noHtmlBlocks: true, noHtmlSpans: true, autolinks: { url: true } });
}

const elements: Bun.markdown.RenderCallbacks = {
  text: escaped,
  html: escaped,
  heading: (children, { level }) => {
    // The page's own headings are h1 and h2.
    const name = `h${Math.min(level + 2, 6)}`;
    return `<${name}>${children}</${name}>`;
  },
  paragraph: (children) => `<p>${children}</p>`,
  blockquote: (children) => `<blockquote>${children}</blockquote>`,
  code: (children) => `<pre><code>${children}</code></pre>`,
  list: (children, { ordered, start }) =>
    ordered ? `<ol start="${Number(start ?? 1)}">${children}</ol>` : `<ul>${children}</ul>`,
  listItem: (children, { checked }) =>
    checked === undefined ? `<li>${children}</li>` : `<li class="task">${checked ? "☑" : "☐"} ${children}</li>`,
  hr: () => "<hr>",
  table: (children) => `<div class="wide"><table>${children}</table></div>`,
  thead: (children) => `<thead>${children}</thead>`,
  tbody: (children) => `<tbody>${children}</tbody>`,
  tr: (children) => `<tr>${children}</tr>`,
  th: (children) => `<th>${children}</th>`,
  td: (children) => `<td>${children}</td>`,
  strong: (children) => `<strong>${children}</strong>`,
  emphasis: (children) => `<em>${children}</em>`,
  strikethrough: (children) => `<del>${children}</del>`,
  codespan: (children) => `<code>${children}</code>`,
  link: (children, { href }) => linked(children, href),
  image: (children, { src }) => linked(`[image: ${children}]`, src),
};

function linked(children: string, target: string): string {
  if (!/^(https?:\/\/|mailto:)/i.test(target)) return children;
  return `<a href="${escaped(target)}" rel="noopener noreferrer">${children}</a>`;
}
