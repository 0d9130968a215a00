import type { Conversation } from "../conversation/conversation.ts";
import type { Definitions } from "../conversation/definitions.ts";

type List = "tools.list" | "skills.list" | "prompts.list" | "agents.list" | "mcp.list";

/** The tools, skills, prompts, agents or servers of a conversation, for programs. */
export function listFor(op: List, { parts, stance }: Conversation): unknown {
  const { definitions, servers } = parts;
  switch (op) {
    case "tools.list":
      return { tools: stance.catalog.current.tools.map(({ name, about }) => ({ name, about })) };
    case "skills.list":
      return describeSkills(definitions?.skills);
    case "prompts.list": {
      const prompts = [...(definitions?.prompts.byName ?? [])];
      return {
        prompts: prompts.map(([name, { scope, path }]) => ({ name, scope, path })),
        errors: definitions?.prompts.notices ?? [],
      };
    }
    case "agents.list": {
      const agents = [...(definitions?.agents.byName.values() ?? [])];
      return {
        agents: agents.map(({ name, description, scope }) => ({ name, description, scope })),
        errors: definitions?.agents.notices ?? [],
      };
    }
    case "mcp.list":
      return { servers: servers.statuses };
    default:
      return op satisfies never;
  }
}

export function describeSkills(found: Definitions["skills"] | undefined) {
  const skills = [...(found?.byName.values() ?? [])].map(({ name, description, file: { scope, path } }) => ({
    name,
    description,
    scope,
    path,
  }));
  return { skills, errors: found?.notices ?? [] };
}
