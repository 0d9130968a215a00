import { readdirSync } from "node:fs";
import { createFileLog } from "../../lib/session/files.ts";
import type { Policy } from "../../lib/sandbox/policy.ts";
import type { ToolResult } from "../../lib/tools/tool.ts";
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

export const isRoot = process.getuid?.() === 0;

const nobody = 65534;

/** Calls a tool as a user without rights, which needs root: in a process of its own. */
export async function asNobody(
  tool: string,
  input: unknown,
  policy: Policy,
  seen: readonly string[] = [],
): Promise<ToolResult> {
  const script = `
    import { readFileSync } from "node:fs";
    import { createFileLog } from ${JSON.stringify(`${import.meta.dir}/../../lib/session/files.ts`)};
    const { tool, input, policy, seen } = JSON.parse(process.argv[1]);
    const { [tool + "Tool"]: called } = await import(${JSON.stringify(`${import.meta.dir}/../../lib/tools/`)} + tool + ".ts");
    const files = createFileLog();
    for (const path of seen) files.saw(path, readFileSync(path));
    const signal = new AbortController().signal;
    console.log(JSON.stringify(await called.run(input, { policy, files, signal })));`;
  const argument = JSON.stringify({ tool, input, policy, seen });
  const identity = [`--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  const child = Bun.spawn(["setpriv", ...identity, process.execPath, "-e", script, argument], {
    cwd: "/",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (child.exitCode !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}
