import type { AgentDefinition, Agents } from "../agents/agents.ts";
import { KodaError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { lowerMode } from "../trust/mode.ts";
import { visibleLine } from "../visible.ts";
import { forkName } from "./agenttools.ts";
import { isNamedByFlag } from "./endpoint.ts";
import type { Recorded } from "./sessions.ts";
import type { Settings } from "./settings.ts";

type Run = { agents: Agents; recorded: Recorded | undefined };

/** The agent that a run is (`--agent`), or that its session was; undefined for koda itself. */
export function agentOfRun({ agent: name, loaded }: Settings, { agents, recorded }: Run): AgentDefinition | undefined {
  const before = recorded?.environment?.agent;
  const wanted = name ?? before;
  if (wanted === undefined) return undefined;
  const definition = agents.byName.get(wanted);
  if (definition !== undefined) return definition;
  const why = whyMissing(wanted, agents, loaded.project.skipped);
  if (name === undefined)
    throw new KodaError(
      "config",
      `Session "${recorded?.info.id}" ran as the agent "${wanted}", which cannot be used now: ` +
        `${why ?? "it is not defined any more"}. Define it again, or pass --agent NAME to continue as another`,
    );
  throw new KodaError("usage", `--agent ${wanted}: ${why ?? whyUnknown(wanted, [...agents.byName.keys()])}`);
}

/** The file that has the name, and does not count. */
function whyMissing(name: string, { broken }: Agents, skipped: readonly string[]): string | undefined {
  const file = skipped.find((path) => path === `.koda/agents/${visibleLine(name)}.md`);
  return broken.get(name) ?? (file === undefined ? undefined : `"${file}" needs --trust-project`);
}

/** The end of a message about a name that is no agent's. */
export function whyUnknown(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  const hint = meant === undefined ? `the agents are ${names.join(", ")}` : `did you mean "${meant}"?`;
  return name === forkName
    ? "a fork begins with the conversation of whoever starts it; --fork ID copies a session"
    : `no agent has that name (${hint})`;
}

/** The source of an agent's limit, for messages. */
export function limitSetBy(agent: string): string {
  return `max_turns of the agent "${agent}"`;
}

/** The settings of a run as this agent: nothing is wider than its definition, whatever the flags say. */
export function settingsAs(agent: AgentDefinition | undefined, settings: Settings): Settings {
  if (agent === undefined) return settings;
  const { config } = settings.loaded;
  const { model, mode = config.mode, maxTurns = Infinity } = agent;
  const isNamed = model === undefined || isNamedByFlag(settings);
  const limits = { ...config.limits, maxTurns: Math.min(config.limits.maxTurns, maxTurns) };
  const narrowed = { ...config, ...(!isNamed && { model }), mode: lowerMode(config.mode, mode), limits };
  return { ...settings, loaded: { ...settings.loaded, config: narrowed } };
}
