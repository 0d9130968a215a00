import { describe, expect, test } from "bun:test";
import { nearest } from "../lib/nearest.ts";

const flags = ["--model", "--mode", "--output", "--output-schema", "--max-turns", "--max-tokens", "--resume", "-o"];
const tools = ["Read", "Write", "Edit", "Bash", "TaskList", "TaskOutput"];

const table: [word: string, candidates: string[], expected: string | undefined][] = [
  ["--modle", flags, "--model"],
  ["--mdoe", flags, "--mode"],
  ["--max-turn", flags, "--max-turns"],
  ["--max_tokens", flags, "--max-tokens"],
  ["--reusme", flags, "--resume"],
  ["--outptu-shcema", flags, "--output-schema"],
  ["--nothing-like-it", flags, undefined],
  ["-x", flags, undefined],
  ["", flags, undefined],
  ["bash", tools, "Bash"],
  ["Raed", tools, "Read"],
  ["taskoutput", tools, "TaskOutput"],
  ["Shell", tools, undefined],
  ["Bash", [], undefined],
  ["ab", ["ac", "AB"], "AB"],
];

describe("the nearest spelling", () => {
  test.each(table)("of %j among %j is %j", (word, candidates, expected) => {
    expect(nearest(word, candidates)).toBe(expected);
  });

  test("is the first of those that are equally near", () => {
    expect(nearest("cat", ["bat", "car", "hat"])).toBe("bat");
  });
});
