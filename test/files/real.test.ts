import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { cachedRealPaths, realPaths } from "../../lib/files/real.ts";
import { makePlace } from "../support/place.ts";

test("a rule about a symlink is about the link and about what it leads to", async () => {
  await using place = makePlace({ "keys/id": "k" });
  const at = (path: string) => join(place.project, path);
  symlinkSync("keys", at("one"));
  symlinkSync("one", at("two"));
  symlinkSync("not/there", at("dangling"));
  symlinkSync("loop", at("loop"));

  for (const resolve of [realPaths, cachedRealPaths()]) {
    expect(resolve(at("keys"))).toEqual([at("keys")]);
    expect(resolve(at("two"))).toEqual([at("two"), at("keys")]);
    expect(resolve(at("two/id"))).toEqual([at("keys/id")]);
    expect(resolve(at("dangling"))).toEqual([at("dangling"), at("not/there")]);
    expect(resolve(at("loop"))).toEqual([at("loop")]);
    expect(resolve(at("new/one"))).toEqual([at("new/one")]);
  }
});
