import { expect, test } from "bun:test";
import { waves } from "../../lib/engine/schedule.ts";
import type { Claim } from "../../lib/trust/claim.ts";

const read: Claim = { effect: "read", writes: [] };
const remote: Claim = { effect: "remote", writes: [] };
const writes = (...paths: string[]): Claim => ({ effect: "write", writes: paths });
const anything: Claim = { effect: "write", writes: "unknown" };

const rows: [name: string, claims: Claim[], waves: number[][]][] = [
  ["reads run together", [read, read, read], [[0, 1, 2]]],
  ["reads and remote calls run together", [read, remote, read], [[0, 1, 2]]],
  ["writes to different files run together", [writes("/p/a"), writes("/p/b")], [[0, 1]]],
  ["writes to one file run one after another", [writes("/p/a"), writes("/p/a")], [[0], [1]]],
  ["a write below a directory that is written waits", [writes("/p/d"), writes("/p/d/a")], [[0], [1]]],
  ["a write of the root waits for every other", [writes("/p/d"), writes("/")], [[0], [1]]],
  ["a name that only begins the same is another file", [writes("/p/d"), writes("/p/da")], [[0, 1]]],
  ["a read does not overtake a write", [writes("/p/a"), read], [[0], [1]]],
  ["a write does not overtake a read", [read, writes("/p/a"), read], [[0], [1], [2]]],
  ["what may write anything runs alone", [read, anything, anything, read], [[0], [1], [2], [3]]],
  ["no calls, no waves", [], []],
];

for (const [name, claims, expected] of rows)
  test(name, () => {
    const calls = claims.map((claim, index) => ({ claim, index }));
    expect(waves(calls).map((wave) => wave.map(({ index }) => index))).toEqual(expected);
  });
