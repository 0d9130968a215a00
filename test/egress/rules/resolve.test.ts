import { expect, test } from "bun:test";
import { parseAuthority } from "../../../lib/egress/rules/host.ts";
import { resolveChecked, systemResolver, type NameLookup } from "../../../lib/egress/rules/resolve.ts";
import { KodaError } from "../../../lib/errors.ts";
import { publicAddress, rulesOf } from "../../support/reach.ts";

const rules = rulesOf({ allow: ["localhost", "127.0.0.1", "[::1]", "8.8.8.8"] });
const never = () => new Promise<readonly string[]>(() => {});

function look(authority: string, lookup: Partial<NameLookup>) {
  const target = parseAuthority(authority);
  if ("fault" in target) throw new Error(target.fault);
  return resolveChecked(target, rules, { signal: new AbortController().signal, ...lookup });
}

test("a look-up that fails is refused with the reason", async () => {
  const missing = Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
  expect(await look("github.com:443", { resolver: () => Promise.reject(missing) })).toEqual({
    refused: "github.com could not be looked up (ENOTFOUND)",
    kind: "dns",
  });
  expect(await look("github.com:443", { resolver: () => Promise.reject(new Error("odd\r\nx: y")) })).toEqual({
    refused: String.raw`github.com could not be looked up ("odd\r\nx: y")`,
    kind: "dns",
  });
  expect(await look("github.com:443", { resolver: async () => [] })).toEqual({
    refused: "github.com has no address",
    kind: "dns",
  });
});

test("a resolver that throws at once is refused as well", async () => {
  const resolver = () => {
    throw new Error("broken");
  };
  expect(await look("github.com:443", { resolver })).toMatchObject({ kind: "dns" });
});

test("a look-up that takes too long is refused, and told so", async () => {
  let told: AbortSignal | undefined;
  const resolver = (_: string, signal: AbortSignal) => {
    told = signal;
    return never();
  };
  expect(await look("github.com:443", { resolver, limitMs: 10 })).toEqual({
    refused: "github.com could not be looked up within 10 ms",
    kind: "timeout",
  });
  expect(told?.aborted).toBe(true);
});

test("an answer that comes after the limit changes nothing", async () => {
  const answer = Promise.withResolvers<readonly string[]>();
  const result = look("github.com:443", { resolver: () => answer.promise, limitMs: 10 });
  expect(await result).toMatchObject({ kind: "timeout" });
  answer.reject(new Error("late"));
  await Bun.sleep(0);
});

test("whoever stops the run stops the look-up, with the same reason", async () => {
  const stop = new AbortController();
  const reason = new KodaError("sigint", "stopped");
  const resolver = () => {
    stop.abort(reason);
    return never();
  };
  const thrown = (lookup: Partial<NameLookup>) => look("github.com:443", lookup).catch((error: unknown) => error);
  expect(await thrown({ resolver, signal: stop.signal })).toBe(reason);
  expect(await thrown({ resolver: never, signal: AbortSignal.abort(reason) })).toBe(reason);
});

test("an address is not looked up", async () => {
  expect(await look("8.8.8.8:443", { resolver: never })).toEqual({ addresses: ["8.8.8.8"] });
});

test("addresses keep the order in which the resolver gave them", async () => {
  const addresses = ["2606:4700::1111", publicAddress, "2606:4700::1001"];
  expect(await look("github.com:443", { resolver: async () => addresses })).toEqual({ addresses });
});

test("the system finds its own name for itself", async () => {
  const addresses = await systemResolver("localhost", new AbortController().signal);
  expect(addresses.filter((address) => address !== "127.0.0.1" && address !== "::1")).toEqual([]);
  expect(addresses.length).toBeGreaterThan(0);
});
