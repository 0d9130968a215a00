import { expect, test } from "bun:test";
import { chmodSync, existsSync } from "node:fs";
import { asNobody, isRoot, letEveryoneIn } from "./nobody.ts";
import { makePlace } from "./place.ts";
import { copyForNobody } from "./reachable.ts";

test.skipIf(!isRoot)("a checkout that only root may enter is copied to where nobody can read it", async () => {
  await using place = makePlace({ "src/file": "text" });
  letEveryoneIn(place);
  expect(copyForNobody(place.project)).toBeUndefined();

  chmodSync(place.project, 0o700);
  using copy = copyForNobody(place.project);
  const read = Bun.spawnSync([...asNobody, "cat", `${copy?.path}/src/file`]);
  expect(read.stdout.toString()).toBe("text");
  copy?.[Symbol.dispose]();
  expect(existsSync(copy?.path ?? "")).toBe(false);
});
