import { expect, test } from "bun:test";
import { renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { bytesAt, entryAt } from "../../lib/files/entry.ts";
import { readSmallText } from "../../lib/files/read.ts";
import { makePlace } from "../support/place.ts";

test("a file is not read through a symlink that came on the way since it was looked at", async () => {
  await using place = makePlace({ "d/file": "mine\n", "hidden/file": "secret\n" });
  const path = join(place.project, "d/file");
  const entry = entryAt(path);
  if (entry.kind === "missing") throw new Error("it is there");
  const read = (isReal: boolean) => Buffer.from(bytesAt(path, entry, { isReal })).toString();
  expect([read(true), readSmallText(path, { isReal: true })]).toEqual(["mine\n", "mine\n"]);
  renameSync(join(place.project, "d"), join(place.project, "away"));
  symlinkSync("hidden", join(place.project, "d"));
  expect(() => read(true)).toThrow("was replaced");
  expect(readSmallText(path, { isReal: true })).toBe("");
  // The control: a look that does not ask is led astray.
  expect([read(false), readSmallText(path)]).toEqual(["secret\n", "secret\n"]);
});
