import type { AgentDefinition, Agents } from "../agents/agents.ts";
import { noPlugins } from "../agents/plugins.ts";
import type { Skills } from "../agents/skills.ts";
import { Mailbox } from "../async/mailbox.ts";
import type { Mode } from "../config/config.ts";
import type { Event } from "../engine/event.ts";
import type { Hooks } from "../engine/hooks.ts";
import { openLedger } from "../engine/ledger.ts";
import { KodaError } from "../errors.ts";
import type { ApiKey } from "../model/key.ts";
import type { Traffic } from "../model/traffic.ts";
import type { SessionInfo } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../session/store.ts";
import { lowerMode } from "../trust/mode.ts";
import rules from "./agent-rules.md" with { type: "text" };
import type { AgentSource } from "./agentpool.ts";
import { whyTooLong } from "./agentprompt.ts";
import type { WantedAgent } from "./agentrun.ts";
import { forkName, toolsForAgent, whyNoTools } from "./agenttools.ts";
import { type Connection, connectionBeside } from "./connection.ts";
import { Conversation } from "./conversation.ts";
import { sourceOf, skillsFrom } from "./definitions.ts";
import { lastAgentNumber, leftNotes } from "./earlieragents.ts";
import { forkOf } from "./fork.ts";
import { introduction } from "./introduction.ts";
import { limitSetBy, settingsAs, whyUnknown } from "./runas.ts";
import type { Settings } from "./settings.ts";
import type { Stance } from "./stance.ts";
import { ToolCatalog } from "./toolcatalog.ts";
import type { Toolkit } from "./toolkit.ts";

/** A conversation's own, from which it opens its agents. */
type Family = {
  settings: Settings;
  store: Store;
  toolkit: Toolkit;
  skills: Skills;
  agents: Agents;
  /** Of all of them, for the warning that the model has read one. */
  keys: Set<ApiKey>;
  traffic: Traffic;
  /** Its track in cassettes. */
  track: string | undefined;
};

type Child = {
  parent: Conversation;
  wanted: WantedAgent;
  id: string;
  /** Undefined for a fork. */
  definition: AgentDefinition | undefined;
  /** Its parent's session and tools at the moment of the call, for a fork. */
  history: SessionInfo;
  offer: Catalog["current"];
};

/** Opens the agents of a conversation: they share its workspace and its ledger, and have logs of their own. */
export function agentSource(family: Family): AgentSource {
  return {
    prepare(parent, wanted) {
      const history = parent.parts.session.info;
      const { current: offer } = parent.stance.catalog;
      return async (id, signal) => {
        const definition = wanted.name === forkName ? undefined : definitionOf(wanted.name, family);
        return await openAgent(family, { parent, wanted, id, definition, history, offer }, signal);
      };
    },
    keyOf(parent, name) {
      const definition = family.agents.byName.get(name);
      // An earlier answer may be there or not, by how fast others are.
      if (definition === undefined || family.traffic.isTaped) return undefined;
      const { info } = parent.stance;
      const mode = agentMode(definition, parent);
      return JSON.stringify([definition.hash, info.provider, info.name, mode, family.settings.root]);
    },
    lastBefore: ({ parts }) => lastAgentNumber(family.store, parts.session),
    leftBefore: ({ parts }) => leftNotes(family.store, parts.session),
    due: () => family.traffic.answersDue(family.track),
    note: (agents) => family.traffic.noteAnswers(family.track, agents),
  };
}

function definitionOf(name: string, { agents: { byName } }: Family): AgentDefinition {
  const definition = byName.get(name);
  if (definition !== undefined) return definition;
  throw new KodaError("usage", `"${name}": ${whyUnknown(name, [...byName.keys()])}`);
}

async function openAgent(family: Family, child: Child, signal: AbortSignal): Promise<Conversation> {
  const { settings } = family;
  const { parent, wanted, id, definition } = child;
  const { host, workspace, servers, prompts, own, system, ledger, watchKey, hooks } = parent.parts;
  await using held = new AsyncDisposableStack();
  const events = new Mailbox<Event>();
  const post = (event: Event) => events.post(event);
  const track = family.track === undefined ? id : `${family.track}/${id}`;
  const circumstances = { traffic: host.traffic, track, recorded: undefined, soon: false, post, signal };
  const connected = await connectionBeside(
    parent.stance.connected,
    { model: definition?.model, settings },
    circumstances,
  );
  if (connected.key !== undefined) family.keys.add(connected.key);
  const fault = whyTooLong(wanted.prompt, connected.info);
  if (fault !== undefined) throw new KodaError("usage", `its prompt is too long: ${fault}`);
  const tooFew = whyNoTools(definition, settings.tools);
  if (tooFew !== undefined) post({ type: "notice", level: "warn", code: "agent", message: tooFew });
  const stance = await stanceFor(family, child, connected);
  const session = held.use(sessionFor(family, child, stance));
  const skills = skillsFrom(stance.catalog.current.tools, family.skills);
  const introduced = {
    ...family,
    settings: settingsAs(definition, settings),
    host,
    workspace,
    session,
    stance,
    skills,
    plugins: noPlugins,
    isChild: true,
  };
  const shared = { host, workspace, servers, prompts, own, settings, parent, session, stance, skills, events };
  const { maxTurns = Infinity } = definition ?? {};
  const opened = new Conversation({
    ...introduction(introduced),
    ...shared,
    system: definition === undefined ? system : systemOf(definition),
    ledger: openLedger({ maxTurns, setBy: limitSetBy(wanted.name) }, ledger),
    watchKey,
    hooks: hooks && hooksOnCalls(hooks),
    resume: null,
  });
  held.move();
  return opened;
}

export function systemOf({ prompt }: AgentDefinition): string {
  return `${prompt}\n\n${rules.trim()}`;
}

/** Its own, as far as its parent may now. */
function agentMode(definition: AgentDefinition | undefined, { authority: { mode } }: Conversation): Mode {
  return lowerMode(definition?.mode ?? mode, mode);
}

async function stanceFor(family: Family, { parent, definition, offer }: Child, connected: Connection): Promise<Stance> {
  const { model, info } = connected;
  const { allowance, gateFor } = parent.stance;
  const mode = agentMode(definition, parent);
  return {
    model,
    info,
    connected,
    // The tools are a part of the prompt that the provider has in its cache.
    catalog: definition === undefined ? unchanging(offer) : await catalogFor(definition, family, connected),
    allowance: { ...allowance, mode },
    gateFor,
  };
}

function sessionFor({ settings, store }: Family, { wanted, definition, history }: Child, stance: Stance): Session {
  const { session: id, name } = wanted;
  if (definition === undefined) return forkOf(history, wanted, store);
  const { info, allowance } = stance;
  const start = { cwd: settings.root, model: info.name, provider: info.provider, mode: allowance.mode };
  return store.startAgent(history, { ...start, id, agent: name });
}

type Catalog = Stance["catalog"];

function unchanging(current: Catalog["current"]): Catalog {
  return { current, advance: async () => undefined };
}

async function catalogFor(definition: AgentDefinition, family: Family, { edit, info }: Connection): Promise<Catalog> {
  const { toolkit, skills } = family;
  return await ToolCatalog.open({
    builtIn: toolsForAgent(definition, toolkit.builtInFor({ edit, skills: sourceOf(skills, info) })),
    servers: toolkit.servers,
    choose: (offer) => toolsForAgent(definition, toolkit.choose(offer)),
  });
}

/** The hooks on calls count for agents too; the others are about the user's own conversation. */
function hooksOnCalls(hooks: Hooks): Hooks {
  return { ...hooks, has: (on, tool) => on.startsWith("tool.") && hooks.has(on, tool) };
}
