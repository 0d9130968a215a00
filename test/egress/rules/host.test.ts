import { expect, test } from "bun:test";
import { isLoopback, parseAuthority, parseHost } from "../../../lib/egress/rules/host.ts";

const label63 = "a".repeat(63);
const name253 = `${`${label63}.`.repeat(3)}${"a".repeat(61)}`;

test.each([
  ["github.com", "github.com"],
  ["GitHub.COM", "github.com"],
  ["github.com.", "github.com"],
  ["intranet", "intranet"],
  ["_acme.a_b.test", "_acme.a_b.test"],
  ["r3---sn.example", "r3---sn.example"],
  ["1.example", "1.example"],
  ["1a", "1a"],
  [label63, label63],
  [name253, name253],
  [`${name253}.`, name253],
  ["bücher.example", "xn--bcher-kva.example"],
  ["xn--bcher-kva.example", "xn--bcher-kva.example"],
  ["XN--BCHER-KVA.example", "xn--bcher-kva.example"],
  ["faß.example", "xn--fa-hia.example"],
  ["日本語.jp", "xn--wgv71a119e.jp"],
  ["10.0.0.1", "10.0.0.1"],
  ["[::1]", "::1"],
  ["2001:DB8::0:1", "2001:db8::1"],
  ["[::ffff:127.0.0.1]", "::ffff:7f00:1"],
])("%s is the host %s", (text, host) => {
  expect(parseHost(text)).toMatchObject({ text: host });
});

/** What a program with a laxer reader could take for another host than we do. */
const malformed = [
  ...". .. .github.com github..com github.com.. github.com:443 https://github.com github.com/".split(" "),
  ..."github.com/@evil user@github.com github.com@evil.test github.com# github.com? github.com\\".split(" "),
  ..."github.com%00 github%2ecom github.com%2eevil github.com\0 github.com\0.evil.test".split(" "),
  ..."github.com,evil.test github.com;evil *.github.com github.com* -github.com github-.com github。com".split(" "),
  ..."github．com github｡com ｇｉｔｈｕｂ.com ⓖithub.com 𝐠ithub.com gıthub.com\u0307 git\u00adhub.com".split(" "),
  ..."git\u200bhub.com git\u200dhub.com \ufeffgithub.com github.com\u202e \u212aubernetes.io".split(" "),
  ..."BÜCHER.example bu\u0308cher.example xn--zzzzzz xn-- xn--a xn--github-.com xn--fa-hia.xn-- \ud800.com".split(" "),
  ..."127.1 0x7f.1 0x7f000001 0x 2130706433 0177.0.0.1 1.2.3.4. 1.2.3.4.5 1.2.3.256 example.0x1 example.1".split(" "),
  ..."１２７.0.0.1 [github.com] [1.2.3.4] [::1 ::1] [[::1]] [::1]x [::1%lo] [] ::1%1 [v1.x]".split(" "),
  "",
  "github.com\r\nx: y",
  "github.com\n",
  "github.com\t",
  " github.com",
  "github.com ",
  "git hub.com",
  `${label63}a.com`,
  `${name253}a`,
  "a".repeat(100_000),
];

test("what is not exactly one well-formed host is none", () => {
  expect(malformed.filter((text) => !("fault" in parseHost(text)))).toEqual([]);
});

test("the reason is one short line of ASCII, whatever the text was", () => {
  const faults = malformed.map((text) => parseHost(text)).map((host) => ("fault" in host ? host.fault : ""));
  expect(faults.filter((fault) => !/^[ -~]{1,700}$/.test(fault))).toEqual([]);
  expect(parseHost("github.com\r\nx: y")).toEqual({
    fault: String.raw`"github.com\r\nx: y" is not a host: it is neither a name nor an IPv6 address`,
  });
});

test.each([
  ["github.com:443", undefined, "github.com", 443],
  ["GITHUB.com.:1", undefined, "github.com", 1],
  ["[::1]:65535", undefined, "::1", 65_535],
  ["10.0.0.1:80", undefined, "10.0.0.1", 80],
  ["github.com", 80, "github.com", 80],
  ["github.com:81", 80, "github.com", 81],
  ["[::1]", 80, "::1", 80],
])("%s with the default port %p is %s at %d", (text, defaultPort, host, port) => {
  expect(parseAuthority(text, defaultPort)).toMatchObject({ host: { text: host }, port });
});

test.each([
  ..."github.com github.com: github.com:0 github.com:65536 github.com:0443 github.com:+443 github.com:443x".split(" "),
  ..."github.com:4４3 github.com:https github.com:443:443 github.com:443@evil.test:443 github.com:443/".split(" "),
  ..."github.com:443# user:pass@github.com:443 :443 ::1:443 [::1]443 [::1]:443]:443 [::1]: [::1]x:443".split(" "),
  ..."x[::1]:443 :".split(" "),
  "github.com:443 ",
  "",
])("%j is no host with a port", (text) => {
  expect(parseAuthority(text)).toHaveProperty("fault");
});

test.each(["localhost", "127.0.0.1", "127.255.3.9", "::1", "[::1]"])("%s is this machine", (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(["127.0.0.1.evil.example", "127.evil.example", "128.0.0.1", "127.0.0", "::", "localhost.evil.example"])(
  "%s is not this machine",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
