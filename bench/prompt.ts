import { largestPrompt, promptParts, totalOf } from "../test/support/promptsize.ts";
import type { Figure } from "./measure.ts";

/** The system prompt and each built-in tool, in tokens; what skills and MCP servers add comes after the totals. */
export async function measure(): Promise<Figure[]> {
  const edit = await promptParts(["--edit", "edit"]);
  const patch = await promptParts(["--edit", "patch"]);
  const more = [
    ...(await promptParts([], { skill: true, expose: "tools" })),
    ...(await promptParts([], { expose: "list" })),
  ];
  const known = new Set(edit.map(({ name }) => name));
  const parts = [...edit, ...[...patch, ...more].filter(({ name }) => !known.has(name) && !name.includes("__"))];
  const share = ({ name, tokens }: (typeof parts)[number]): Figure => ({
    what: `prompt: ${name}`,
    value: tokens,
    unit: "tokens",
    bar: "a part",
    holds: true,
  });
  const total = (what: string, value: number): Figure => ({
    what,
    value,
    unit: "tokens",
    bar: `≤ ${largestPrompt}`,
    holds: value <= largestPrompt,
  });
  return [
    ...parts.map(share),
    total("prompt and built-in tools, with Edit", totalOf(edit)),
    total("prompt and built-in tools, with ApplyPatch", totalOf(patch)),
  ];
}
