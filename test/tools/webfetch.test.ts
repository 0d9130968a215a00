import { describe, expect, test } from "bun:test";
import { recallTool } from "../../lib/tools/recall.ts";
import { webFetchTool } from "../../lib/tools/webfetch.ts";
import { buildGate } from "../../lib/trust/gate.ts";
import { textOf } from "../support/files.ts";
import { makeShelf, start } from "../support/sessions.ts";
import { egressTo, redirect, reply, startSite, type Answer } from "../support/site.ts";

/** A tool that can reach one site, in a conversation. */
async function openTool(answers: Record<string, Answer>) {
  const shelf = makeShelf();
  const session = shelf.store.create(start);
  const site = await startSite(answers);
  const egress = egressTo([site]);
  const abort = new AbortController();
  const context = { call: "c1", signal: abort.signal, egress, outputs: session.outputs };
  return {
    site,
    session,
    abort,
    async fetch(path = "/", raw?: boolean) {
      const url = /^[a-z]+:/.test(path) ? path : site.url(path);
      const result = await webFetchTool.run({ url, ...(raw !== undefined && { raw }) }, context);
      return { ...result, text: textOf(result), body: textOf(result).split("\n\n").slice(1).join("\n\n") };
    },
    async [Symbol.asyncDispose]() {
      session.close();
      await Promise.all([site[Symbol.asyncDispose](), shelf[Symbol.asyncDispose]()]);
    },
  };
}

const page = "<title>A page</title><h1>Hello</h1><p>There is <a href=/more>more</a>.";
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR4nGNgYAAAAAMAASsJTYQAAAAASUVORK5CYII=",
  "base64",
);

describe("what the model is shown", () => {
  test("of HTML is its text, under what came from where", async () => {
    await using tool = await openTool({ "/": redirect("/page"), "/page": reply(page, { type: "text/html" }) });
    const { ok, text } = await tool.fetch();
    expect(ok).toBe(true);
    expect(text).toBe(
      `200 OK | ${tool.site.url("/page")} | text/html | 70 bytes\n\nTitle: A page\n\n# Hello\n\nThere is [more](${tool.site.url("/more")}).`,
    );
  });

  test("raw is the source", async () => {
    await using tool = await openTool({ "/": reply(page, { type: "text/html" }) });
    expect((await tool.fetch("/", true)).body).toBe(page);
  });

  test.each([
    ["application/json", '{\n  "a": "<b>"\n}'],
    ["text/plain", "<h1>not HTML</h1>"],
    ["text/markdown; charset=utf-8", "# é"],
    ["application/octet-stream", "#!/bin/sh\necho"],
    ["image/svg+xml", "<svg><title>x</title></svg>"],
    ["application/rss+xml", "<rss><title>x</title></rss>"],
    [undefined, "no type at all"],
  ])("%s is shown as it is", async (type, text) => {
    await using tool = await openTool({ "/": reply(text, type === undefined ? {} : { type }) });
    expect((await tool.fetch()).body).toBe(text);
  });

  test("HTML without a type is told by its beginning", async () => {
    await using tool = await openTool({ "/": reply("\n<!DOCTYPE html><p>Hello") });
    expect((await tool.fetch()).body).toBe("Hello");
  });

  test("of an image is the image, whatever it is said to be", async () => {
    await using tool = await openTool({ "/": reply(png, { type: "text/plain" }) });
    const { ok, parts } = await tool.fetch();
    expect([ok, parts[1]]).toEqual([true, { type: "image", mime: "image/png", base64: png.toString("base64") }]);
  });

  test("a picture that is none, or not all there, is not passed on", async () => {
    const large = Buffer.concat([png, Buffer.alloc(1024 * 1024)]);
    await using tool = await openTool({
      "/none": reply("GIF? No.", { type: "image/gif" }),
      "/large": reply(large, { type: "image/png" }),
    });
    const [none, large_] = [await tool.fetch("/none"), await tool.fetch("/large")];
    expect([none.ok, none.parts.length, none.text]).toEqual([
      false,
      1,
      expect.stringContaining('of the type "image/gif"'),
    ]);
    expect([large_.ok, large_.parts.length, large_.text]).toEqual([
      false,
      1,
      expect.stringContaining("only the first"),
    ]);
  });

  test.each([
    ["application/pdf", "%PDF-1.7\n", "a PDF document"],
    ["application/octet-stream", "\x7fELF\0\0", "an ELF binary"],
    ["text/plain", "a\0b", "binary data"],
    ["video/mp4", "x", 'of the type "video/mp4"'],
  ])("%s is refused with what it is", async (type, body, what) => {
    await using tool = await openTool({ "/": reply(Buffer.from(body, "latin1"), { type }) });
    const { ok, text } = await tool.fetch();
    expect(ok).toBe(false);
    expect(text).toMatch(/^200 OK \| .*\nIt is .*, and only text and images can be shown\.$/);
    expect(text.toLowerCase()).toContain(what.toLowerCase().slice(0, 8));
  });

  test("an error of the server is a failure with what it says", async () => {
    await using tool = await openTool({
      "/": reply("<p>Gone since May", { status: "410 Whatever", type: "text/html" }),
    });
    const { ok, text, denied } = await tool.fetch();
    expect([ok, denied]).toEqual([false, undefined]);
    expect(text).toBe(`410 Gone | ${tool.site.url()} | text/html | 17 bytes\n\nGone since May`);
  });

  test("a page without text says so", async () => {
    await using tool = await openTool({ "/": reply("<script>x</script>", { type: "text/html" }) });
    expect((await tool.fetch()).text).toContain("[The page has no text of its own");
  });

  test("a body that was cut says so", async () => {
    await using tool = await openTool({
      "/": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n<p>begun",
    });
    const { ok, text } = await tool.fetch();
    expect(ok).toBe(true);
    expect(text).toContain("\n[Not all of it: the connection closed before its end.]\n\nbegun");
  });
});

describe("character sets", () => {
  const utf16 = (text: string) => Buffer.from(text, "utf16le");
  test.each([
    ["the head's", "text/html; charset=iso-8859-1", Buffer.from("<p>caf\xe9", "latin1")],
    ["the head's, in quotes", 'text/html; x=y; CHARSET="Latin1"', Buffer.from("<p>caf\xe9", "latin1")],
    ["the page's", "text/html", Buffer.from("<meta charset=windows-1252><p>caf\xe9", "latin1")],
    [
      "the page's, of old",
      "text/html",
      Buffer.from(`<meta http-equiv=x content="text/html; charset=latin1"><p>caf\xe9`, "latin1"),
    ],
    [
      "the XML's",
      "application/xhtml+xml",
      Buffer.from(`<?xml version="1.0" encoding="iso-8859-1"?><p>caf\xe9`, "latin1"),
    ],
    ["none, and UTF-8", "text/html", Buffer.from("<p>café")],
    ["none, and no UTF-8", "text/html", Buffer.from("<p>caf\xe9", "latin1")],
    ["a mark", "text/html; charset=latin1", Buffer.from("\ufeff<p>café")],
    ["a mark of UTF-16", "text/html", utf16("\ufeff<p>café")],
    ["UTF-16 in the head", "text/html; charset=utf-16le", utf16("<p>café")],
    ["UTF-16, which cannot be", "text/html", Buffer.from("<meta charset=utf-16><p>café")],
  ])("%s", async (_, type, body) => {
    await using tool = await openTool({ "/": reply(body, { type }) });
    expect((await tool.fetch()).body).toBe("café");
  });

  test("Japanese, Russian and Chinese ones", async () => {
    await using tool = await openTool({
      "/sjis": reply(Buffer.of(0x93, 0xfa, 0x96, 0x7b), { type: "text/plain; charset=shift_jis" }),
      "/koi8": reply(Buffer.of(0xcd, 0xc9, 0xd2), { type: "text/plain; charset=koi8-r" }),
      "/gb": reply(Buffer.of(0xd6, 0xd0), { type: "text/plain; charset=gb2312" }),
    });
    const bodies = [await tool.fetch("/sjis"), await tool.fetch("/koi8"), await tool.fetch("/gb")].map(
      ({ body }) => body,
    );
    expect(bodies).toEqual(["日本", "мир", "中"]);
  });

  test("a cut within a character is no sign of another character set", async () => {
    const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\n";
    await using tool = await openTool({ "/": Buffer.concat([Buffer.from(`${head}café `), Buffer.of(0xc3)]) });
    expect((await tool.fetch()).body.trim()).toBe("café");
  });

  test("one that is not known is said", async () => {
    await using tool = await openTool({ "/": reply("café", { type: "text/plain; charset=utf-7" }) });
    const { text, body } = await tool.fetch();
    expect(text).toContain('[Note: its character set "utf-7" is not known here.]');
    expect(body).toBe("café");
  });
});

describe("a long page", () => {
  test("is shown in part, and the rest can be recalled", async () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `line ${index + 1}`);
    await using tool = await openTool({ "/": reply(lines.join("\n"), { type: "text/plain" }) });
    const { output, text, body } = await tool.fetch();
    expect(text.length).toBeLessThan(17_000);
    const [, last, id, from] =
      /line (\d+)\n\[Cut: \1 of 5000 lines\. The next: RecallContext {"output":"(o\d+)","range":"(\d+)-\d+"}\]$/.exec(
        body,
      ) ?? [];
    expect([output, Number(from)]).toEqual([id ?? "", Number(last) + 1]);
    const recalled = await recallTool.run({ output: output ?? "", range: `${from}` }, tool.session);
    expect(textOf(recalled)).toContain(`\nline ${from}\n`);
  });

  test("in one line is cut between characters", async () => {
    await using tool = await openTool({ "/": reply("👩‍🚀".repeat(10_000), { type: "text/plain" }) });
    const { body } = await tool.fetch();
    const [shown = "", hint] = body.split("\n");
    expect(shown).toMatch(/^(👩‍🚀)+…$/);
    expect(hint).toContain("[Cut: 0 of 1 lines.");
  });
});

describe("what is not fetched", () => {
  test("is denied by the rules, in one line that names the flag", async () => {
    await using tool = await openTool({ "/": redirect("http://127.0.0.1:1/") });
    const [first, redirected] = [await tool.fetch("http://example.com:8080/"), await tool.fetch()];
    expect(first.denied).toBe(
      "egress: example.com:8080 is not on the allowlist (--allow-net example.com:8080 allows it)",
    );
    expect(first.text).toStartWith(`Denied: ${first.denied}. No one can approve it here`);
    expect(redirected.denied).toBe(
      'egress: after a redirect to "http://127.0.0.1:1/": 127.0.0.1:1 is not on the allowlist (--allow-net 127.0.0.1:1 allows it)',
    );
    for (const { ok, text } of [first, redirected]) expect([ok, text.split("\n").length]).toEqual([false, 1]);
  });

  test.each([
    [
      "file:///etc/hostname",
      'Cannot fetch: "file:///etc/hostname" cannot be fetched: expected an absolute http:// or https:// URL',
    ],
    ["http://u:p@example.com/", "Cannot fetch: a URL with a user or a password before its host is not fetched."],
  ])("%s", async (url, why) => {
    await using tool = await openTool({});
    const { ok, text, denied } = await tool.fetch(url);
    expect([ok, denied]).toEqual([false, undefined]);
    expect(text).toStartWith(why);
  });

  test("is told from what fails", async () => {
    await using tool = await openTool({ "/": "" });
    const { ok, text, denied } = await tool.fetch();
    expect([ok, denied]).toEqual([false, undefined]);
    expect(text).toMatch(
      /^Cannot fetch "http:\/\/127.0.0.1:\d+\/": 127.0.0.1:\d+ closed the connection before it answered \(\w+\)\.$/,
    );
  });

  test("by a run that is stopped throws the reason", async () => {
    await using tool = await openTool({ "/": () => tool.abort.abort(reason) });
    const reason = new Error("stopped");
    expect(await tool.fetch().catch((error: unknown) => error)).toBe(reason);
  });
});

test("it is a remote call: allowed in mode auto only, and beside others of its kind", () => {
  const claim = webFetchTool.claim();
  expect(claim).toEqual({ effect: "remote", writes: [] });
  const verdicts = (["plan", "safe", "auto"] as const).map(
    (mode) => buildGate({ mode })({ tool: "WebFetch", claim }).allow,
  );
  expect(verdicts).toEqual([false, false, true]);
});
