import { expect, test } from "bun:test";
import { largestPrompt, promptParts, totalOf } from "../support/promptsize.ts";

test.each(["edit", "patch"])("the prompt and the tools take few tokens with --edit %s", async (dialect) => {
  const parts = await promptParts(["--edit", dialect]);
  expect(parts.map(({ name }) => name)).toContain(dialect === "edit" ? "Edit" : "ApplyPatch");
  expect(parts.length).toBeGreaterThan(12);
  for (const { name, tokens } of parts) expect(tokens, name).toBeGreaterThan(10);
  expect(totalOf(parts), JSON.stringify(parts)).toBeLessThanOrEqual(largestPrompt);
});

test("skills and MCP servers add a few short tools", async () => {
  const plain = new Set((await promptParts([])).map(({ name }) => name));
  const rows = [
    [{ skill: true, expose: "tools" }, ["McpList", "McpRead", "Skill", "notes__echo"]],
    [{ expose: "list" }, ["McpCall", "McpTools"]],
  ] as const;
  for (const [extras, names] of rows) {
    const added = (await promptParts([], extras)).filter(({ name }) => !plain.has(name));
    expect(added.map(({ name }) => name).sort()).toEqual([...names]);
    for (const { name, tokens } of added) expect(tokens, name).toBeLessThan(120);
  }
});
