import { expect, test } from "bun:test";
import { addressRefusal, nameRefusal } from "../../../lib/egress/rules/decide.ts";
import { parseAuthority, type HostPort } from "../../../lib/egress/rules/host.ts";
import type { EgressRules } from "../../../lib/egress/rules/rules.ts";
import { publicAddress, reached, rulesOf } from "../../support/reach.ts";

function target(authority: string): HostPort {
  const parsed = parseAuthority(authority);
  if ("fault" in parsed) throw new Error(parsed.fault);
  return parsed;
}

function allowed(rules: EgressRules, authorities: readonly string[]): string[] {
  return authorities.filter((authority) => nameRefusal(target(authority), rules) === undefined);
}

const hosts = ["github.com:443", "example.com:443", "8.8.8.8:443"];

test("an empty allowlist allows nothing", () => {
  expect(allowed({ mode: "allowlist", allow: [], deny: [] }, hosts)).toEqual([]);
});

test("the mode none allows nothing, whatever is allowed beside it", () => {
  const rules = rulesOf({ mode: "none", allow: ["github.com", "8.8.8.8", "127.0.0.1"] });
  expect(allowed(rules, [...hosts, "127.0.0.1:80"])).toEqual([]);
  expect(addressRefusal(target("github.com:443"), publicAddress, rules)).toContain("--net none");
});

test("the mode open allows every public host at every port", async () => {
  const targets = [...hosts, "example.com:1", "[2606:4700::1]:53"];
  expect(await reached(targets, { mode: "open" })).toEqual(targets);
});

const local = ["intranet:80", "localhost:80", "a.localhost:80", "ip6-localhost:80", "metadata.google.internal:80"];

test("the mode open does not allow names that only a private network knows, even if they seem to be public", async () => {
  const named = [...local, "printer.local:80", "nas.lan:80", "router.home.arpa:80", "x.localdomain:80"];
  expect(await reached(named, { mode: "open" })).toEqual([]);
  expect(await reached(["localhost.test:80", "mylocalhost.com:80"], { mode: "open" })).toHaveLength(2);
});

test("localhost needs its own name and the loopback addresses it has", async () => {
  const answers = () => ["127.0.0.1", "::1"];
  const tries = async (...allow: string[]) => (await reached(["localhost:3000"], { allow }, answers)).length;
  expect(await tries("localhost:3000")).toBe(0);
  expect(await tries("127.0.0.1:3000", "[::1]:3000")).toBe(0);
  expect(await tries("localhost:3000", "127.0.0.1:3000")).toBe(0);
  expect(await tries("localhost:3000", "127.0.0.1:3000", "[::1]")).toBe(0);
  expect(await tries("localhost:3000", "127.0.0.1:3000", "[::1]:3000")).toBe(1);
});
