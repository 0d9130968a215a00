import { expect, test } from "bun:test";
import { ResultCache } from "../../lib/agents/resultcache.ts";
import { createFileLog } from "../../lib/session/files.ts";

const noFiles = createFileLog();

test("an answer is kept until a call may have written", () => {
  let generation = 1;
  const cache = new ResultCache<string>(() => generation);
  cache.begin("question")("answer", noFiles);
  expect(cache.find("question")).toBe("answer");
  expect(cache.find("another")).toBeUndefined();
  generation++;
  expect(cache.find("question")).toBeUndefined();
});

test("an answer is not kept when a call has written since its agent began", () => {
  let generation = 1;
  const cache = new ResultCache<string>(() => generation);
  const keep = cache.begin("question");
  generation++;
  keep("of before and after", noFiles);
  expect(cache.find("question")).toBeUndefined();
});

test("nothing is kept or found while something may write at any moment", () => {
  let generation: number | undefined = 1;
  const cache = new ResultCache<string>(() => generation);
  cache.begin("question")("answer", noFiles);
  generation = undefined;
  expect(cache.find("question")).toBeUndefined();
  cache.begin("question")("answer", noFiles);
  expect(cache.find("question")).toBeUndefined();
});

test("the oldest answers go first", () => {
  const cache = new ResultCache<number>(() => 1);
  for (let n = 0; n < 65; n++) cache.begin(`${n}`)(n, noFiles);
  expect([cache.find("0"), cache.find("1"), cache.find("64")]).toEqual([undefined, 1, 64]);
});
