import { describe, expect, test } from "bun:test";
import { formatUrl, parseUrl, resolveReference, type WebUrl } from "../../../lib/tools/web/url.ts";

function urlOf(text: string): WebUrl {
  const url = parseUrl(text);
  if ("fault" in url) throw new Error(url.fault);
  return url;
}

describe("what is understood", () => {
  test.each([
    ["http://example.com", "http://example.com/"],
    [" https://example.com/a?b=c#d\n", "https://example.com/a?b=c"],
    ["HTTPS://EXAMPLE.com./A", "https://example.com/A"],
    ["https://example.com:443/", "https://example.com/"],
    ["https://example.com:80/", "https://example.com:80/"],
    ["http://example.com?q", "http://example.com/?q"],
    ["http://example.com#top", "http://example.com/"],
    ["http://[::1]:8080/x", "http://[::1]:8080/x"],
    ["http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"],
    ["https://bücher.example/ä ö?ü=%41", "https://xn--bcher-kva.example/%C3%A4%20%C3%B6?%C3%BC=%41"],
    ['http://h.test/a\\b"<c>{d}', "http://h.test/a%5Cb%22%3Cc%3E%7Bd%7D"],
    ["http://h.test/\ud800", "http://h.test/%EF%BF%BD"],
    ["http://h.test/a@b:c", "http://h.test/a@b:c"],
  ])("%s", (given, url) => {
    expect(formatUrl(urlOf(given))).toBe(url);
  });
});

describe("what is refused, and not made into something else", () => {
  test.each([
    ["", "expected an absolute http:// or https:// URL"],
    ["example.com", "expected an absolute http:// or https:// URL"],
    ["/etc/passwd", "expected an absolute http:// or https:// URL"],
    ["file:///etc/passwd", "expected an absolute http:// or https:// URL"],
    ["ftp://example.com/", "expected an absolute http:// or https:// URL"],
    ["javascript:alert(1)", "expected an absolute http:// or https:// URL"],
    ["http:example.com", "expected an absolute http:// or https:// URL"],
    ["http:\\\\example.com", "expected an absolute http:// or https:// URL"],
    ["ht\ntp://example.com", "expected an absolute http:// or https:// URL"],
    ["http:///path", "it is empty"],
    ["http://user@example.com/", "a user or a password"],
    ["http://user:hunter2@example.com/", "a user or a password"],
    ["http://example.com\\@127.0.0.1/", "a user or a password"],
    ["http://127.1/", "ends in a number"],
    ["http://0x7f.0.0.1/", "ends in a number"],
    ["http://2130706433/", "ends in a number"],
    ["http://0177.0.0.1/", "ends in a number"],
    ["http://127.0.0.1./", "ends in a number"],
    ["http://①②⑦.0.0.1/", "international name"],
    ["http://exa%6dple.com/", "is not allowed in a name"],
    ["http://example.com /", "is not allowed in a name"],
    ["http://exam\tple.com/", "is not allowed in a name"],
    ["http://example.com\\.evil.test/", "is not allowed in a name"],
    ["http://example.com:/", "its port is not a number"],
    ["http://example.com:0/", "its port is not a number"],
    ["http://example.com:65536/", "its port is not a number"],
    ["http://::1/", "needs brackets"],
    ["http://[::1%25eth0]/", "neither a name nor an IPv6 address"],
    ["http://example.com/a\r\nHost: evil", "control character"],
    ["http://example.com/\0", "control character"],
    [`http://example.com/${"x".repeat(9000)}`, "longer than 8192"],
  ])("%j", (given, why) => {
    const url = parseUrl(given);
    expect("fault" in url ? url.fault : formatUrl(url)).toContain(why);
  });

  test("a password is not repeated", () => {
    expect(JSON.stringify(parseUrl("http://user:hunter2@example.com/"))).not.toContain("hunter2");
  });
});

describe("a reference, put together with where it stands", () => {
  test.each([
    ["g", "http://a.test/b/c/g"],
    ["./g", "http://a.test/b/c/g"],
    ["g/", "http://a.test/b/c/g/"],
    ["/g", "http://a.test/g"],
    ["//g.test", "http://g.test"],
    ["?y", "http://a.test/b/c/d?y"],
    ["g?y", "http://a.test/b/c/g?y"],
    ["#s", "http://a.test/b/c/d?q#s"],
    ["g#s/../x", "http://a.test/b/c/g#s/../x"],
    ["g?y/../x", "http://a.test/b/c/g?y/../x"],
    ["", "http://a.test/b/c/d?q"],
    [".", "http://a.test/b/c/"],
    ["..", "http://a.test/b/"],
    ["../g", "http://a.test/b/g"],
    ["../..", "http://a.test/"],
    ["../../../g", "http://a.test/g"],
    ["/./g", "http://a.test/g"],
    ["/../g", "http://a.test/g"],
    ["g.", "http://a.test/b/c/g."],
    ["..g", "http://a.test/b/c/..g"],
    ["./g/.", "http://a.test/b/c/g/"],
    ["https://h.test/x", "https://h.test/x"],
    ["mailto:a@b.test", "mailto:a@b.test"],
    ["/\\evil.test/", "http://a.test/\\evil.test/"],
    ["\\\\evil.test/", "http://a.test/b/c/\\\\evil.test/"],
  ])("%j", (reference, whole) => {
    expect(resolveReference(reference, urlOf("http://a.test/b/c/d?q"))).toBe(whole);
  });
});
