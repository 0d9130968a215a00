import { countTokens } from "gpt-tokenizer";
import { exec } from "./koda.ts";
import { serverOf } from "./mcp.ts";
import { say } from "./model-reply.ts";
import { startModelServer } from "./model-server.ts";
import { configure, makePlace } from "./place.ts";

export type PromptPart = { readonly name: string; readonly tokens: number };

/** More than the tools that every run has. */
type Extras = { skill?: boolean; expose?: "tools" | "list" };

/**
 * The parts of a first request before the environment and the project's instructions: the system prompt and each tool
 * as it stands in the body, in tokens of o200k_base.
 */
export async function promptParts(flags: readonly string[], { skill = false, expose }: Extras = {}) {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  if (expose !== undefined) configure(place, { mcp: { expose, servers: { notes: serverOf(notes) } } });
  const skills = { ".agents/skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Deploys.\n---\nPush it.\n" };
  if (skill) for (const [path, text] of Object.entries(skills)) place.write(path, text);
  await exec(place, server, [...flags, ...(skill ? ["--trust-project"] : []), "go"]);
  const { messages = [], tools = [] } = (server.requests[0]?.body ?? {}) as Body;
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  return [
    { name: "system prompt", tokens: countTokens(system.join("\n")) },
    ...tools.map((tool) => ({ name: tool.function.name, tokens: countTokens(JSON.stringify(tool)) })),
  ] satisfies PromptPart[];
}

type Body = {
  messages?: { role: string; content: string }[];
  tools?: { function: { name: string } }[];
};

const notes = { tools: [{ name: "echo" }], resources: { "note://a": "text" }, prompts: { greet: "Hello." } };

export function totalOf(parts: readonly PromptPart[]): number {
  return parts.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** The most that the system prompt and the built-in tools may take together. */
export const largestPrompt = 2600;
