import type { AgentDefinition } from "../agents/agents.ts";
import type { Plugins } from "../agents/plugins.ts";
import type { Skills } from "../agents/skills.ts";
import { readOnly } from "../sandbox/policy/policy.ts";
import type { Session } from "../session/session.ts";
import type { ConversationParts } from "./conversationparts.ts";
import { environmentItem } from "./environment.ts";
import type { Host } from "./host.ts";
import type { Settings } from "./settings.ts";
import type { Stance } from "./stance.ts";
import { startEvent } from "./start.ts";
import type { Toolkit } from "./toolkit.ts";
import type { Workspace } from "./workspace.ts";

type Facts = {
  host: Host;
  settings: Settings;
  workspace: Workspace;
  session: Session;
  stance: Stance;
  toolkit: Pick<Toolkit, "instructions" | "currentInstructions" | "servers">;
  /** Those that the model can load. */
  skills: Skills;
  plugins: Plugins;
  /** The agent that the run is. */
  agent?: AgentDefinition | undefined;
  /** True for an agent that the model has started: unless its mode is auto, its commands can write nothing. */
  isChild?: boolean;
};

/** The first event of a conversation, and the environment that its model is told. */
export function introduction(facts: Facts): Pick<ConversationParts, "start" | "environment"> {
  const { host, settings, workspace, session, stance, toolkit, skills, plugins, agent, isChild } = facts;
  const told = { settings, workspace, skills, agent: agent?.name };
  const { facts: connection, effort } = stance.connected;
  return {
    start: startEvent({
      ...told,
      session,
      stance,
      connection,
      effort,
      isReplay: host.traffic.replayed !== undefined,
      instructions: toolkit.instructions,
      servers: toolkit.servers.statuses,
      plugins,
    }),
    environment: ({ allowance, info, connected }, mode) =>
      environmentItem(session, {
        ...told,
        connection: connected.facts,
        instructions: toolkit.currentInstructions(),
        workspace: isChild && mode !== "auto" ? { policy: readOnly(workspace.policy) } : workspace,
        allowance: { ...allowance, mode },
        info,
      }),
  };
}
