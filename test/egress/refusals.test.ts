import { describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { readRefusals } from "../../lib/egress/refusals/read.ts";
import { Refusals } from "../../lib/egress/refusals/refusals.ts";
import { makePlace } from "../support/place.ts";

const refused = (host: string, reason = `${host} is not on the allowlist`) =>
  ({ via: "http", host, port: 443, reason }) as const;

const hosts = (refusals: readonly { host: string }[]) => refusals.map(({ host }) => host);

describe("a session", () => {
  test("tells the last refusal of each call, and of no other", () => {
    const refusals = new Refusals(undefined);
    for (const host of ["a.test", "b.test"])
      for (const tool of ["call_1", "call_2"]) refusals.add({ ...refused(`${tool}.${host}`), tool });
    refusals.add(refused("nobodys.test"));
    expect(refusals.lastOf("call_1")).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      ...refused("call_1.b.test"),
      tool: "call_1",
    });
    expect(refusals.lastOf("call_2")).toMatchObject({ host: "call_2.b.test" });
    expect(refusals.lastOf("call_3")).toBeUndefined();
  });

  test("remembers the last 200 calls, however often one of them is refused", () => {
    const refusals = new Refusals(undefined);
    for (let at = 0; at < 300; at++) refusals.add({ ...refused("a.test"), tool: `call_${at}` });
    for (let at = 0; at < 300; at++) refusals.add({ ...refused("b.test"), tool: "call_299" });
    expect(refusals.lastOf("call_99")).toBeUndefined();
    expect(refusals.lastOf("call_100")).toMatchObject({ host: "a.test" });
    expect(refusals.lastOf("call_299")).toMatchObject({ host: "b.test" });
  });
});

describe("the data directory", () => {
  test("has them for later, and for nobody else", async () => {
    await using place = makePlace();
    new Refusals(place.home).add(refused("first.test"));
    new Refusals(place.home).add({ ...refused("second.test"), tool: "call_7" });
    expect(readRefusals(place.home)).toMatchObject([{ host: "first.test" }, { host: "second.test", tool: "call_7" }]);
    expect(statSync(join(place.home, "refusals.jsonl")).mode & 0o777).toBe(0o600);
  });

  test("keeps the latest 200, in a file that stays small", async () => {
    await using place = makePlace();
    const refusals = new Refusals(place.home);
    for (let at = 0; at < 3_000; at++) refusals.add(refused(`h${at}.test`, "x".repeat(200)));
    expect(statSync(join(place.home, "refusals.jsonl")).size).toBeLessThan(300 * 1024);
    expect(readdirSync(place.home)).toEqual(["refusals.jsonl"]);
    expect(hosts(readRefusals(place.home))).toEqual(Array.from({ length: 200 }, (_, at) => `h${at + 2_800}.test`));
  });

  test("is shared by several kodas, whose lines stay whole", async () => {
    await using place = makePlace();
    const program = `
      import { Refusals } from "${join(process.cwd(), "lib/egress/refusals/refusals.ts")}";
      const refusals = new Refusals(process.argv[1]);
      for (let at = 0; at < 600; at++)
        refusals.add({ via: "socks", host: process.argv[2] + at + ".test", port: 22, reason: "y".repeat(300) });
    `;
    const writers = ["a", "b", "c"].map((name) =>
      Bun.spawn([process.execPath, "-e", program, place.home, name], { stderr: "inherit", stdout: "ignore" }),
    );
    for (const writer of writers) expect(await writer.exited).toBe(0);

    const lines = readFileSync(join(place.home, "refusals.jsonl"), "utf8").trimEnd().split("\n");
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ via: "socks", reason: "y".repeat(300) });
    expect(readRefusals(place.home)).toHaveLength(200);
    // Whoever was last is in it with its last line: nothing after it can have cut it off.
    expect(hosts(readRefusals(place.home)).some((host) => host.endsWith("599.test"))).toBe(true);
    expect(readdirSync(place.home)).toEqual(["refusals.jsonl"]);
  });

  test("may be missing, or not ours to write to: the session remembers all the same", async () => {
    await using place = makePlace();
    mkdirSync(join(place.home, "taken/refusals.jsonl"), { recursive: true });
    for (const directory of [join(place.home, "missing"), join(place.home, "taken")]) {
      const refusals = new Refusals(directory);
      refusals.add({ ...refused("a.test"), tool: "call_1" });
      expect(refusals.lastOf("call_1")).toMatchObject({ host: "a.test" });
      expect(readRefusals(directory)).toEqual([]);
    }
    expect(readdirSync(place.home)).toEqual(["taken"]);
  });

  test("is not left by a link", async () => {
    await using place = makePlace();
    const elsewhere = place.write("precious", "as it was");
    symlinkSync(elsewhere, join(place.home, "refusals.jsonl"));
    new Refusals(place.home).add(refused("a.test"));
    expect(readFileSync(elsewhere, "utf8")).toBe("as it was");
  });

  test("may hold lines that are none: they are passed over", async () => {
    await using place = makePlace();
    const refusals = new Refusals(place.home);
    refusals.add(refused("a.test"));
    appendFileSync(join(place.home, "refusals.jsonl"), '{"at":"x","host":1}\n\nnull\n{"at":"2030-01-01\n');
    refusals.add(refused("b.test"));
    expect(hosts(readRefusals(place.home))).toEqual(["a.test", "b.test"]);
  });
});
