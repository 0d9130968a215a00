import { expect, test } from "bun:test";
import { evaluateAsNobody, letEveryoneIn } from "../support/nobody.ts";
import { makePlace } from "../support/place.ts";

const module = JSON.stringify(`${import.meta.dir}/../../lib/conversation/workspace/temporary.ts`);

test("a directory for temporary files goes with all that commands made in it, without root's rights too", async () => {
  await using place = makePlace({ "kept/file": "" });
  letEveryoneIn(place);
  const answer = await evaluateAsNobody(
    `const { makeTemporary } = await import(${module});
    const { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } = await import("node:fs");
    const temporary = makeTemporary();
    const at = (path) => temporary.path + "/" + path;
    mkdirSync(at("cache/module"), { recursive: true });
    writeFileSync(at("cache/module/file"), "");
    symlinkSync(input + "/kept", at("cache/link"));
    for (const path of ["cache/module", "cache", "."]) chmodSync(at(path), path === "cache" ? 0o500 : 0);
    await temporary[Symbol.asyncDispose]();
    const answer = [existsSync(temporary.path), readdirSync(input + "/kept")];`,
    place.project,
  );
  expect(answer).toEqual([false, ["file"]]);
});
