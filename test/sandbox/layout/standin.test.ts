import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { standInsFor } from "../../../lib/sandbox/layout/standin.ts";
import { evaluateAsNobody, isRoot, letEveryoneIn } from "../../support/nobody.ts";
import { makePlace, type Place } from "../../support/place.ts";
import { policyOf } from "../../support/policy.ts";

const standin = JSON.stringify(join(import.meta.dir, "../../../lib/sandbox/layout/standin.ts"));

/** What becomes of the stand-in for the project's `.git`, without root's rights. */
async function standIn(place: Place, script: string): Promise<unknown> {
  const policy = policyOf(place, { readonly: [join(place.project, ".git")] });
  const preamble = `
    const { standInsFor } = await import(${standin});
    const { chmodSync, existsSync, mkdirSync } = await import("node:fs");
    const root = input.root;
    const isThere = () => existsSync(root + "/.git");`;
  return await evaluateAsNobody(`${preamble}\n${script}`, policy);
}

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

test("a command that takes the right to remove a stand-in is over all the same, and the next one removes it", async () => {
  await using place = makePlace();
  letEveryoneIn(place);
  chmodSync(place.project, 0o777);
  const answer = await standIn(
    place,
    `input.root += "/own"; input.write = [input.root]; input.readonly = [input.root + "/.git"];
    mkdirSync(input.root);
    const git = () => existsSync(input.root + "/.git");
    const seen = [];
    for (const mode of [0o500, 0, 0o700]) {
      const held = standInsFor(input);
      chmodSync(input.root, mode);
      held[Symbol.dispose]();
      chmodSync(input.root, 0o700);
      seen.push(git());
    }
    const answer = seen;`,
  );
  expect(answer).toEqual([true, true, false]);
});

test.if(isRoot)("where nobody can make anything there is nothing to be protected", async () => {
  await using place = makePlace();
  letEveryoneIn(place);
  expect(await standIn(place, `standInsFor(input)[Symbol.dispose](); const answer = isThere();`)).toBe(false);
});

test("but the owner of a directory could get the right to, so no command runs there", async () => {
  await using place = makePlace();
  letEveryoneIn(place);
  chmodSync(place.project, 0o777);
  const answer = await standIn(
    place,
    `input.root += "/own"; input.write = [input.root]; input.readonly = [input.root + "/.git"];
    mkdirSync(input.root);
    chmodSync(input.root, 0o500);
    let answer = "held";
    try { standInsFor(input); } catch (error) { answer = error.message; }`,
  );
  expect(answer).toMatch(/^Cannot protect ".*\/own\/\.git", which is not there yet: permission denied/);
});
