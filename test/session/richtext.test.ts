import { describe, expect, test } from "bun:test";
import { richText } from "../../lib/session/richtext.ts";
import { seeded } from "../support/random.ts";

const rows: readonly [markdown: string, html: string][] = [
  ["# One\n\n## Two", "<h3>One</h3><h4>Two</h4>"],
  ["###### Six", "<h6>Six</h6>"],
  ["a *b* **c** ~~d~~ `e`", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e</code></p>"],
  ["one\ntwo", "<p>one\ntwo</p>"],
  ["- a\n  1. b\n- [x] c", `<ul><li>a<ol start="1"><li>b</li></ol></li><li class="task">☑ c</li></ul>`],
  ["3. three", `<ol start="3"><li>three</li></ol>`],
  ['```js" onload="x\nif (a < b) {}\n```', "<pre><code>if (a &lt; b) {}\n</code></pre>"],
  [
    "| a | b |\n|---|--:|\n| 1 | <i> |",
    `<div class="wide"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>&lt;i&gt;</td></tr></tbody></table></div>`,
  ],
  ["> said", "<blockquote><p>said</p></blockquote>"],
  ["---", "<hr>"],
  [
    "[koda](https://example.com/?a=1&b='2')",
    `<p><a href="https://example.com/?a=1&amp;b=&#x27;2&#x27;" rel="noopener noreferrer">koda</a></p>`,
  ],
  [
    "see https://example.com.",
    `<p>see <a href="https://example.com" rel="noopener noreferrer">https://example.com</a>.</p>`,
  ],
  [
    "![cat](http://example.com/cat.png)",
    `<p><a href="http://example.com/cat.png" rel="noopener noreferrer">[image: cat]</a></p>`,
  ],
  ["[a](javascript:alert(1)) ![b](data:text/html,x) [c](//example.com) [d](file:///x)", "<p>a [image: b] c d</p>"],
  ["[a](&#106;avascript:alert(1)) [b](JaVaScRiPt:alert(1))", "<p>a b</p>"],
  ["<b onclick=x>hi</b> <!-- no --> &lt;i&gt;", "<p>&lt;b onclick=x&gt;hi&lt;/b&gt; &lt;!-- no --&gt; &lt;i&gt;</p>"],
  ["<script>\nalert(1)\n</script>", "<p>&lt;script&gt;\nalert(1)\n&lt;/script&gt;</p>"],
];

describe("Markdown becomes HTML", () => {
  for (const [markdown, html] of rows) test(JSON.stringify(markdown), () => expect(richText(markdown)).toBe(html));
});

const ours = new Set(
  "h3 h4 h5 h6 p blockquote pre code ul ol li hr div table thead tbody tr th td strong em del a".split(" "),
);

test("whatever a model writes, every tag and attribute is our own", () => {
  const pieces = [
    ..."<script>¦<img src=x onerror=y>¦](¦javascript:x¦[¦!¦`¦```¦\"¦'¦>¦\n¦\n\n¦- ¦1. ¦    ¦| ¦|-|\n¦*¦_".split("¦"),
    ...'&#60;¦&lt;¦<http://a.b>¦http://a.b/"x¦# ¦\\¦\0'.split("¦"),
  ];
  const next = seeded(7);
  for (let round = 0; round < 3_000; round++) {
    const markdown = Array.from({ length: 12 }, () => pieces[Math.floor(next() * pieces.length)]).join("");
    const html = richText(markdown);
    for (const [tag, name = ""] of html.matchAll(/<\/?([a-z]+\d?)?[^>]*>?/gi)) {
      expect(ours, `${JSON.stringify(markdown)} became ${html}`).toContain(name);
      expect(tag, JSON.stringify(markdown)).toMatch(
        /^<\/?\w+( class="(wide|task)"| start="\d+"| href="(https?:\/\/|mailto:)[^"'<>]*" rel="noopener noreferrer")?>$/i,
      );
    }
  }
});

test("Markdown that would take minutes to render is shown as it stands", () => {
  for (const text of [">".repeat(200_000), "- ".repeat(40) + "x", "1. ".repeat(50_000), "*".repeat(200_000)]) {
    expect(richText(text)).toBe(`<pre>${text.replaceAll(">", "&gt;")}</pre>`);
  }
  expect(richText("-".repeat(200))).toBe("<hr>");
});
