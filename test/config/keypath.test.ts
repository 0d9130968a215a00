import { expect, test } from "bun:test";
import { formatPath, parsePath } from "../../lib/config/keypath.ts";

const paths: [dotted: string, path: string[]][] = [
  ["mode", ["mode"]],
  ["limits.max_turns", ["limits", "max_turns"]],
  ["providers.corp.base_url", ["providers", "corp", "base_url"]],
  ["providers.my.corp.base_url", ["providers", "my.corp", "base_url"]],
  ["providers.my.corp.models.gpt-5.5.price.input", ["providers", "my.corp", "models", "gpt-5.5", "price", "input"]],
  ["providers.or.models.meta/llama-3.1-8b.images", ["providers", "or", "models", "meta/llama-3.1-8b", "images"]],
  ['providers."a.models.b".wire', ["providers", "a.models.b", "wire"]],
  ['providers.corp.models."gpt-5.5"', ["providers", "corp", "models", "gpt-5.5"]],
  ['providers."say \\"hi\\"".wire', ["providers", 'say "hi"', "wire"]],
  // Nothing known follows, so nothing is joined: the message then points at the first unknown word.
  ["providers.corp.base_ur", ["providers", "corp", "base_ur"]],
  ["limits.max.turns", ["limits", "max", "turns"]],
  ["limits.", ["limits", ""]],
  ["", [""]],
];

test.each(paths)("the key %s leads to %j", (dotted, path) => {
  expect(parsePath(dotted)).toEqual(path);
});

test.each(paths.slice(0, 9).map(([, path]) => [path]))("what is formatted parses to the same: %j", (path) => {
  expect(parsePath(formatPath(path))).toEqual(path);
});
