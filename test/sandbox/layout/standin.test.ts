import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { standInsFor } from "../../../lib/sandbox/layout/standin.ts";
import { evaluateAsNobody, letEveryoneIn } from "../../support/nobody.ts";
import { makePlace } from "../../support/place.ts";
import { policyOf } from "../../support/policy.ts";

const standin = JSON.stringify(join(import.meta.dir, "../../../lib/sandbox/layout/standin.ts"));

test("what is missing has a stand-in as long as anybody needs it", async () => {
  await using place = makePlace();
  const policy = policyOf(place, { readonly: [join(place.project, ".git"), join(place.project, ".koda")] });
  const one = standInsFor(policy);
  const other = standInsFor(policy);
  one[Symbol.dispose]();
  expect(readdirSync(place.project).sort()).toEqual([".git", ".koda"]);
  other[Symbol.dispose]();
  expect(readdirSync(place.project)).toEqual([]);
});

test("what has become somebody's stays", async () => {
  await using place = makePlace();
  const own = join(place.project, ".koda");
  const held = standInsFor(policyOf(place, { readonly: [own] }));
  chmodSync(own, 0o700);
  mkdirSync(join(own, "agents"));
  held[Symbol.dispose]();
  expect(existsSync(join(own, "agents"))).toBe(true);
});

test("where koda can make nothing, and so no command can, there is none", async () => {
  await using place = makePlace();
  letEveryoneIn(place);
  const policy = policyOf(place, { readonly: [join(place.project, ".git")] });
  const script = `
    const { standInsFor } = await import(${standin});
    standInsFor(input)[Symbol.dispose]();
    const answer = "went on";`;
  expect(await evaluateAsNobody(script, policy)).toBe("went on");
});
