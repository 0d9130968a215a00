import { describe, expect, test } from "bun:test";
import { htmlToText } from "../../../lib/tools/web/html/text.ts";
import { parseUrl, type WebUrl } from "../../../lib/tools/web/url.ts";

function urlOf(text: string): WebUrl {
  const url = parseUrl(text);
  if ("fault" in url) throw new Error(url.fault);
  return url;
}

const url = urlOf("https://h.test/a/b?c");
const textOf = (html: string) => htmlToText({ html, url }).text;

describe("a page as text", () => {
  test.each([
    ["plain text", "plain text"],
    ["<p>one<p>two", "one\n\ntwo"],
    ["<p>one</p>\n  \n<p>\n  two\n  words </p>", "one\n\ntwo words"],
    ["<div>one<div>two</div>three</div>", "one\ntwo\nthree"],
    ["one <b>two</b>, <i>three</i>four", "one two, threefour"],
    ["<b>one</b> <b>two</b><b> three</b>", "one two three"],
    ["one<br>two<br><br/>three", "one\ntwo\n\nthree"],
    ["<h1>One</h1><h3> Two\nthree </h3>four", "# One\n\n### Two three\n\nfour"],
    ["<h2></h2><h2><div>One</div></h2>", "## One"],
    ["<ul><li>one<li>two</ul>three", "- one\n- two\n\nthree"],
    ["<ul><li><p>one</p><p>more</p></li><li></li><li>two</li></ul>", "- one\n  more\n- two"],
    ["<ul><li>one<ol><li>two<li>three</ol><li>four</ul>", "- one\n  1. two\n  2. three\n- four"],
    ["<ol start=7><li>one<li>two</ol><ol start=x><li>three</ol>", "7. one\n8. two\n\n1. three"],
    ["<li>one", "- one"],
    ["<dl><dt>one<dd>two<dt>three<dd><p>four</dl>", "one\n  two\nthree\n  four"],
    ["<blockquote><p>one<p>two</blockquote>three", "> one\n\n> two\n\nthree"],
    ["one<hr>two", "one\n\n---\n\ntwo"],
    ["use <code>a  &lt; b</code>, <kbd>Enter</kbd>", "use `a < b`, `Enter`"],
    ["<p><code>open<p>closed", "`open`\n\nclosed"],
    ["<pre>\n  one\n\ttwo  \n\n</pre>three", "```\n  one\n\ttwo\n```\n\nthree"],
    ['<pre class="x language-c++"><code>one</code></pre>', "```c++\none\n```"],
    ['<pre><code class="language-js">a<br>b</code></pre>', "```js\na\nb\n```"],
    ["<pre><div>one</div><div>two</div></pre>", "```\none\ntwo\n```"],
    ["<pre>```\n````</pre>", "`````\n```\n````\n`````"],
    ["<pre> </pre>one", "one"],
    ["<pre>one <a href=/x>two</a>", "```\none two\n```"],
    ["<blockquote><ul><li><pre>one\ntwo</pre></ul></blockquote>", "> - ```\n>   one\n>   two\n>   ```"],
    ["<table><tr><th>A<th>B<tr><td>1<td>2</table>three", "A | B\n1 | 2\n\nthree"],
    ["<table><tr><td><p>a</p><p>b</p><td>c<br>d<td><td>e</table>", "a b | c d | | e"],
    ["<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>", "a\nb | c\n| d"],
    [
      `<table><tr><td>${"long ".repeat(30)}<p>two<br><br>three</table>`,
      `${"long ".repeat(30)}\ntwo three`.replace(" \n", "\n"),
    ],
    ["<td>one<p>two<p>three", "one\n\ntwo\n\nthree"],
    ["<a name=top><p>one<p>two", "one\n\ntwo"],
    ["2<sup>10</sup> H<sub>2</sub>O <q>so</q>", '2^10 H_2O "so"'],
    ["a\u00a0b&nbsp;&nbsp;c\u3000d", "a b c\u3000d"],
  ])("%j", (html, text) => {
    expect(textOf(html)).toBe(text);
  });
});

describe("links and images", () => {
  test.each([
    ["<a href=x>one</a>", "[one](https://h.test/a/x)"],
    ['one<a href="/x?a=1&amp;b=2#c"> two </a>three', "one [two](https://h.test/x?a=1&b=2#c) three"],
    ["<a href='//g.test/'>one</a>", "[one](https://g.test/)"],
    ["<a href=?d>one</a>", "[one](https://h.test/a/b?d)"],
    ["<a href=' /x y(z) '>one</a>", "[one](https://h.test/x%20y%28z%29)"],
    ["<a href=/x><h3>One</h3><p>two</p></a>three", "[One two](https://h.test/x) three"],
    ["<a href=https://g.test/>https://g.test/</a>", "https://g.test/"],
    ["<a href=mailto:a@b.test>write</a>", "[write](mailto:a@b.test)"],
    ["<a href=javascript:x()>one</a> <a href=data:,x>two</a> <a name=x>three</a>", "one two three"],
    ["<a href=#x>one</a> <a href=''>two</a> <a>three</a>", "one two three"],
    ["<h2>One<a href=#one>#</a></h2><h2>Two <a href=#two>¶</a></h2>", "## One\n\n## Two"],
    ["<a href=/x></a><a href=/x><img src=y></a>one", "one"],
    ["<a href=/x><img src=y alt=logo></a>", "[logo](https://h.test/x)"],
    ["<a href=/x>one<a href=/y>two</a>", "[one](https://h.test/x)[two](https://h.test/y)"],
    ["<ul><li><a href=/x>one<li>two</ul>", "- [one](https://h.test/x)\n- two"],
    ["<a href=/x><code>one</code></a>", "[`one`](https://h.test/x)"],
    ["<img src=/y alt='a  picture'><img src=/z><img alt='' src=q>", "![a picture](https://h.test/y)"],
    ["<img alt=inside src=data:image/png;base64,xx>", "inside"],
    ["<base href=/d/><base href=/e/><a href=x>one</a>", "[one](https://h.test/d/x)"],
    ["<base href='javascript:'><a href=x>one</a>", "[one](https://h.test/a/x)"],
    [`<a href=/x>${"one ".repeat(300)}`, "one ".repeat(300).trim()],
  ])("%j", (html, text) => {
    expect(textOf(html)).toBe(text);
  });
});

describe("what is no text", () => {
  test.each([
    ["<script>if (a < b) x('<p>')</script>one<style>p > a {}</style>", "one"],
    ["<SCRIPT>one</SCRIPTS></script >two", "two"],
    ["one<!-- two > --><!--> three <!-- -- -->", "one three"],
    ["<!doctype html><?xml x?><![CDATA[x]]></ x>one", "one"],
    ["<nav><ul><li>Home</ul></nav>one", "one"],
    ["<nav>Home<main>one</main>", "one"],
    ["<div role=navigation>Home<div>x</div></div>one", "one"],
    ["<div hidden>two<div></div>x</div>one<span aria-hidden=true>x</span>", "one"],
    ["<p hidden>kept: nobody knows where it ends", "kept: nobody knows where it ends"],
    ["<button>Copy</button>one<select><option>x</select><textarea>x</textarea>", "one"],
    ["<svg><title>x</title><text>y</text></svg>one<svg />two", "onetwo"],
    ["<template><p>x</p></template>one<iframe>x</iframe>", "one"],
    ["<noscript>needs a script</noscript>", "needs a script"],
    ["<nav>all there is</nav>", "all there is"],
    ["", ""],
    ["<body></body>", ""],
  ])("%j", (html, text) => {
    expect(textOf(html)).toBe(text);
  });

  test("the title stands by itself", () => {
    const page = htmlToText({
      html: "<title> A\n &amp; <b> </title><svg><title>x</title></svg><title>y</title>one",
      url,
    });
    expect(page).toEqual({ title: "A & <b>", text: "one", isCut: false });
  });
});

describe("character references", () => {
  test.each([
    ["&lt;&gt;&amp;&quot;&apos;", "<>&\"'"],
    ["&amp;lt;", "&lt;"],
    ["&eacute;&Eacute;&szlig;&euro;&mdash;&rarr;&Sigma;&Omega;&alpha;&sigmaf;&omega;", "éÉß€—→ΣΩαςω"],
    ["&#65;&#x42;&#X43;&#68 &#x1F600;", "ABCD 😀"],
    ["&#150;&#146;", "–’"],
    ["&#0;&#27;[31m&#xD800;&#x110000;&#99999999;", "\ufffd\ufffd[31m\ufffd\ufffd\ufffd"],
    ["a & b &unknown; &; &# &#x; &copy 1", "a & b &unknown; &; &# &#x; © 1"],
    ["<a href='/x?a=1&copy=2&lt=3'>one</a>", "[one](https://h.test/x?a=1&copy=2&lt=3)"],
    ["&CounterClockwiseContourIntegral;&nvlt;", "∳<\u20d2"],
    ["&bsol;&num;&quot;&check;", '\\#"✓'],
    ["AT&T &constructor; &__proto__;", "AT&T &constructor; &__proto__;"],
  ])("%j", (html, text) => {
    expect(textOf(html)).toBe(text);
  });
});

describe("HTML that nobody meant well", () => {
  test.each([
    ["1 < 2 <3 <", "1 < 2 <3 <"],
    ["<p class=>one</p", "one"],
    ['one<a href="x>two', "one"],
    ["<p title='>'>one</p>two", "one\n\ntwo"],
    ["<a href=/x href=/y>one</a>", "[one](https://h.test/x)"],
    ["<a HREF=/x>one</A >", "[one](https://h.test/x)"],
    ["<p/class=x>one", "one"],
    ["</p></ul></td></a></pre></blockquote></li>one", "one"],
    ["<constructor>one</constructor><__proto__>two<toString href=x>three", "one<__proto__>twothree"],
    ["<title>never closed <p>one", ""],
    ["<script>never closed <p>one", ""],
    ["<!-- never closed <p>one", ""],
    ["<p>one\0two", "one\0two"],
    ["<p>half a pair \ud83d", "half a pair \ufffd"],
  ])("%j", (html, text) => {
    expect(textOf(html)).toBe(text);
  });

  const megabyte = 1024 * 1024;
  const fill = (piece: string) => piece.repeat(Math.floor(megabyte / piece.length));

  /** What takes a time that grows with the square of the size, takes minutes for a megabyte. */
  test.each([
    ["elements nested without end", fill("<div>")],
    ["a hundred thousand open and closed", `${"<div>".repeat(100_000)}x${"</div>".repeat(100_000)}`],
    ["ends of what was never open", `${"<a>".repeat(170_000)}${"</b>".repeat(130_000)}`],
    ["lists in lists", fill("<ul><li>x")],
    ["tables in tables", fill("<table><tr><td>x")],
    ["quotations in quotations", fill("<blockquote>x")],
    ["headings in headings", fill("<h6>x")],
    ["paragraphs in one preformatted text", `<pre>${fill("x<p>")}`],
    ["preformatted texts", fill("<pre>x</pre>")],
    ["links", fill("<a href=x>x</a>")],
    ["links never closed", fill("<a href=x>x")],
    ["links of much space", fill(`<a href=x>${" ".repeat(900)}x</a>`)],
    ["attributes", `<a ${fill("a=b ")}>`],
    ["one attribute", `<a href="${fill("x")}">y</a>`],
    ["quotes", `<a x=${fill("\"'")}`],
    ["attributes never closed", fill('<a href="')],
    ["spaces after an attribute", `<a x${fill(" ")}y`],
    ["slashes", `<a${fill("/")}`],
    ["comments never closed", fill("<!--")],
    ["declarations never closed", fill("<![CDATA[")],
    ["scripts", fill("<script></script>")],
    ["raw text never closed", fill("<textarea><title><script>")],
    ["less-than signs", fill("<")],
    ["ampersands", fill("&")],
    ["references", fill("&amp;")],
    ["references never closed", fill(`&${"a".repeat(40)}`)],
    ["long names of references never ended", fill("&CounterClockwiseContourIntegra")],
    ["ampersands in an attribute", `<a href="${fill("&")}">x</a>`],
    ["references in an attribute", `<a href="${fill("&amp;")}">x</a>`],
    ["a number of a reference", `&#${fill("1")};`],
    ["dashes in a comment", `<!--${fill("-")}`],
    ["beginnings of an end tag", `<title>${fill("</titl")}`],
    ["one name of an element", `<a${fill("b")}`],
    ["backticks", `<pre>${fill("`")}`],
    ["navigation never closed", fill("<nav>")],
    ["bases", fill("<base href=/x>")],
    ["spaces", fill(" ")],
    ["one word", fill("x")],
  ])(
    "a megabyte of %s is read in bounded time and room",
    (_, html) => {
      for (const place of [url, urlOf(`https://h.test/${"long/".repeat(1600)}`)]) {
        const { text } = htmlToText({ html, url: place });
        expect(text.length).toBeLessThanOrEqual(html.length * 4);
      }
    },
    20_000,
  );

  test("a small page with a long address is not much longer as text", () => {
    const place = urlOf(`https://h.test/${"long/".repeat(1600)}`);
    const page = htmlToText({ html: "<a href=x>x</a>".repeat(1000), url: place });
    expect(page.isCut).toBe(true);
    expect(page.text.length).toBeLessThanOrEqual(60_000);
  });

  test("nesting does not move the text out of sight", () => {
    expect(textOf(`${"<ul>".repeat(1000)}<li>one${"</ul>".repeat(1000)}two`)).toBe(`${"  ".repeat(8)}- one\n\ntwo`);
    expect(textOf(`${"<blockquote>".repeat(1000)}one${"</blockquote>".repeat(1001)}two`)).toBe(
      `${"> ".repeat(8)}one\n\ntwo`,
    );
  });
});
