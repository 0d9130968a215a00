import { readdirSync } from "node:fs";
import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import { createFileLog } from "../../lib/session/files.ts";
import type { ToolResult } from "../../lib/tools/tool.ts";
import { evaluateAsNobody } from "./nobody.ts";
import { makePlace } from "./place.ts";
import { policyOf } from "./policy.ts";

/** A project of a test's own with what file tools are given in it. */
export function makeFiles(content: Record<string, string> = {}, rules: Partial<Policy> = {}) {
  const place = makePlace(content);
  const context = { policy: policyOf(place, rules), files: createFileLog(), signal: new AbortController().signal };
  return { ...place, place, context };
}

export function textOf({ parts }: ToolResult): string {
  return parts.map((part) => (part.type === "text" ? part.text : `<${part.mime}>`)).join("");
}

export function namesIn(directory: string): string[] {
  return readdirSync(directory).sort();
}

/** Calls a tool as a user without rights. */
export async function callAsNobody(
  tool: string,
  input: unknown,
  policy: Policy,
  seen: readonly string[] = [],
): Promise<ToolResult> {
  const script = `
    const { readFileSync } = await import("node:fs");
    const { createFileLog } = await import(${JSON.stringify(`${import.meta.dir}/../../lib/session/files.ts`)});
    const { [input.tool + "Tool"]: tool } = await import(${JSON.stringify(`${import.meta.dir}/../../lib/tools/`)} + input.tool + ".ts");
    const files = createFileLog();
    for (const path of input.seen) files.saw(path, readFileSync(path));
    const answer = tool.run(input.input, { policy: input.policy, files, signal: new AbortController().signal });`;
  // The process gives back what the tool gave it.
  return (await evaluateAsNobody(script, { tool, input, policy, seen })) as ToolResult;
}
