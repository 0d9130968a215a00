import type { AgentDefinition } from "../agents/agents.ts";
import { type Instructions, loadInstructions, noInstructions } from "../agents/instructions.ts";
import type { Skills } from "../agents/skills.ts";
import type { EditDialect } from "../config/config.ts";
import type { Event } from "../engine/event.ts";
import type { Offer } from "../mcp/servers.ts";
import type { ModelInfo } from "../model/model.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { isHidden } from "../sandbox/policy/reach.ts";
import type { AskUser } from "../tools/askuser.ts";
import type { Tool } from "../tools/tool.ts";
import { namedTools, offeredAgents } from "./agenttools.ts";
import type { Allowance } from "./allowance.ts";
import { ToolCatalog } from "./toolcatalog.ts";
import { type Definitions, skillsFrom, sourceOf, withPlugins } from "./definitions.ts";
import { offeredByServers, withServers } from "./servers.ts";
import { ServerSet } from "./serverset.ts";
import type { Settings } from "./settings.ts";
import { type ToolOptions, toolsOf } from "./tools.ts";
import type { Workspace } from "./workspace.ts";

/** The tools of a conversation, and the texts that the model is given about them and about the project. */
export type Toolkit = AsyncDisposable & {
  readonly catalog: ToolCatalog;
  readonly servers: ServerSet;
  /** Koda's own tools as another model of the run is offered them. */
  builtInFor(options: Pick<ToolOptions, "edit" | "skills">): readonly Tool[];
  /** The catalog that another model is offered. */
  catalogFor(options: Pick<ToolOptions, "edit" | "skills">): Promise<ToolCatalog>;
  /** The tools of servers that may be used, as they are offered. */
  choose(offer: Offer): readonly Tool[];
  /** Those that the model can load. */
  readonly skills: Skills;
  readonly instructions: Instructions;
  /** The instructions with those of the MCP servers that are connected now. */
  currentInstructions(): Instructions;
};

type Place = {
  settings: Settings;
  workspace: Workspace;
  allowance: Allowance;
  info: ModelInfo;
  edit: EditDialect;
  definitions: Definitions;
  /** The agent that the run is. */
  agent: AgentDefinition | undefined;
  ask: AskUser | undefined;
  canElicit: boolean;
  post: (event: Event) => void;
  interrupt: AbortSignal | undefined;
};

/** Settles when the first request may be sent. */
export async function openToolkit(place: Place, signal: AbortSignal): Promise<Toolkit> {
  const { settings, workspace, info, edit, definitions, agent, ask, post } = place;
  const { skills, plugins } = definitions;
  const instructions = withPlugins(instructionsFor(settings, workspace.policy), plugins);
  for (const message of instructions.notices) post({ type: "notice", level: "warn", code: "instructions", message });
  await using held = new AsyncDisposableStack();
  const servers = held.use(await ServerSet.open(definitions.servers, place, signal));
  const withoutCommands = workspace.backend.filesystem === "no commands";
  const agents = offeredAgents(definitions.agents);
  const builtInFor = (options: Pick<ToolOptions, "edit" | "skills">) =>
    namedTools(agent, toolsOf(settings, { ...options, withoutCommands, agents, ask }));
  const choose = (offer: Offer) => namedTools(agent, offeredByServers(offer, settings));
  const catalogFor = (options: Pick<ToolOptions, "edit" | "skills">) =>
    ToolCatalog.open({ builtIn: builtInFor(options), servers, choose });
  const catalog = await catalogFor({ edit, skills: sourceOf(skills, info) });
  const opened = held.move();
  return {
    catalog,
    servers,
    builtInFor,
    catalogFor,
    choose,
    skills: skillsFrom(catalog.current.tools, skills),
    instructions,
    currentInstructions: () => withServers(instructions, servers),
    [Symbol.asyncDispose]: async () => opened.disposeAsync(),
  };
}

function instructionsFor({ bare, root }: Settings, policy: Policy): Instructions {
  return bare ? noInstructions : loadInstructions({ cwd: root, isHidden: (real) => isHidden(real, policy) });
}
