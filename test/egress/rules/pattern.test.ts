import { expect, test } from "bun:test";
import { KodaError } from "../../../lib/errors.ts";
import { reached, refusal, rulesOf } from "../../support/reach.ts";

const bad = [
  ..."* *:443 *. *.* *foo.com foo.* foo.*:80 a.*.b *.*.x.com **.x.com *.x.* http://x.com".split(" "),
  ..."https://x.com:443/ x.com/y user@x.com x.com:0 x.com:65536 x.com: x.com:* x.com:80-90 x.com,y.com".split(" "),
  ..."x..com .x.com 10.0.0.0/8 *.10.0.0.1 10.0.0 0x7f.1 ::1 ::1:80 [::1 [::1%lo] [*.x.com] ｘ.com".split(" "),
  "",
  "x com",
  " x.com",
  "x.com\n",
];

test.each(bad)("%j is no pattern", (text) => {
  for (const given of [{ allow: [text] }, { deny: [text] }]) {
    expect(() => rulesOf(given)).toThrow(KodaError);
  }
});

test("a wildcard before a single label would allow too much, but may be denied", async () => {
  expect(() => rulesOf({ allow: ["*.com"] })).toThrow('it would allow every name in ".com"');
  expect(await reached(["a.com:443", "b.a.com:443", "a.net:443"], { mode: "open", deny: ["*.com"] })).toEqual([
    "a.net:443",
  ]);
});

test("a bad pattern is named, with what is expected and where it came from", () => {
  expect(() => rulesOf({ deny: ["ok.com", "foo.*"] })).toThrow(
    '--deny-net or egress.deny: "foo.*" is not a host pattern: "*" stands for one whole label, the first. Expected a host ' +
      "(example.com), one label below a host (*.example.com) or an address (10.1.2.3, [::1]), each with a port " +
      "(example.com:8080) or without.",
  );
});

test("an allowance is of the web's ports, unless it names one", async () => {
  const targets = ["a.test:80", "a.test:443", "a.test:22", "a.test:8080", "b.test:8080", "b.test:443"];
  expect(await reached(targets, { allow: ["a.test", "b.test:8080"] })).toEqual([
    "a.test:80",
    "a.test:443",
    "b.test:8080",
  ]);
});

test("a wildcard allows one label more, no more and no fewer", async () => {
  const targets = ["x.test:443", "a.x.test:443", "A.X.TEST.:443", "b.a.x.test:443", "ax.test:443", "a.x.test.evil:443"];
  expect(await reached(targets, { allow: ["*.x.test"] })).toEqual(["a.x.test:443", "A.X.TEST.:443"]);
  expect(await reached(["a.x.test:443", "a.x.test:81"], { allow: ["*.x.test:81"] })).toEqual(["a.x.test:81"]);
});

test("patterns are compared as hosts are: without capitals, without the last dot, in punycode", async () => {
  const allow = ["A.Test.", "bücher.test", "*.über.test"];
  const targets = ["a.test:443", "xn--bcher-kva.test:443", "bücher.test:443", "a.xn--ber-goa.test:443"];
  expect(await reached(targets, { allow })).toEqual(targets);
});

test("a denial beats every allowance, at any depth and at every port", async () => {
  const deny = ["bad.test", "*.x.test", "odd.test:8080", "8.8.8.8"];
  const targets = [
    ..."bad.test:443 BAD.test.:81 sub.bad.test:443 a.x.test:443 b.a.x.test:443 x.test:443 odd.test:443".split(" "),
    ..."odd.test:8080 8.8.8.8:53 [::ffff:8.8.8.8]:53 [64:ff9b::8.8.8.8]:53 8.8.4.4:53".split(" "),
  ];
  const allowed = ["sub.bad.test:443", "x.test:443", "odd.test:443", "8.8.4.4:53"];
  expect(await reached(targets, { mode: "open", deny })).toEqual(allowed);
  expect(await reached(["bad.test:443"], { allow: ["bad.test", "bad.test:443"], deny })).toEqual([]);
});

test("an address is reached only by a pattern that is this address", async () => {
  const allow = ["10.1.2.3", "[2606:4700::1]:8443", "*.1.test", "1.test"];
  const targets = [
    ..."10.1.2.3:443 10.1.2.3:8080 10.1.2.4:443 [::ffff:10.1.2.3]:443 [2606:4700:0::1]:8443".split(" "),
    ..."[2606:4700::1]:443 8.8.8.8:443".split(" "),
  ];
  expect(await reached(targets, { allow })).toEqual(["10.1.2.3:443", "[2606:4700:0::1]:8443"]);
});

test("a refusal is one line that names the host and the flag", async () => {
  expect(await refusal("example.com:443")).toBe(
    "example.com is not on the allowlist (--allow-net example.com allows it)",
  );
  expect(await refusal("example.com:8080")).toBe(
    "example.com:8080 is not on the allowlist (--allow-net example.com:8080 allows it)",
  );
  expect(await refusal("[::1]:3000")).toBe("[::1]:3000 is not on the allowlist (--allow-net '[::1]:3000' allows it)");
  expect(await refusal("github.com:443", { deny: ["github.com"] })).toBe(
    'github.com is denied by the pattern "github.com" (--deny-net or egress.deny, which no --allow-net overrules)',
  );
  expect(await refusal("github.com:443", { mode: "none" })).toBe(
    "github.com cannot be reached with --net none (--net allowlist --allow-net github.com allows it)",
  );
});

test("what a refusal recommends is a pattern, and helps", async () => {
  const answers = () => ["fd00::5"];
  const first = await refusal("db.test:5432", {}, answers);
  const allow = [/--allow-net (\S+) allows/.exec(first)?.[1] ?? ""];
  const second = await refusal("db.test:5432", { allow }, answers);
  expect(second).toBe(
    "db.test:5432 resolves to [fd00::5], which is a private address (--allow-net '[fd00::5]:5432' allows it)",
  );
  allow.push(/--allow-net '(\S+)' allows/.exec(second)?.[1] ?? "");
  expect(await reached(["db.test:5432"], { allow }, answers)).toEqual(["db.test:5432"]);
});
