import type { AgentDefinition } from "../agents/agents.ts";
import { Mailbox } from "../async/mailbox.ts";
import { parseUpstream } from "../egress/route/upstream.ts";
import { parseRules } from "../egress/rules/rules.ts";
import type { Mode } from "../config/config.ts";
import type { OwnOutput } from "../engine/changes.ts";
import type { Event } from "../engine/event.ts";
import { watchForKeys } from "../engine/exposure.ts";
import { type Limits, openLedger } from "../engine/ledger.ts";
import type { ModelInfo } from "../model/model.ts";
import { inMemory } from "../session/database.ts";
import type { ConnectionFacts, EnvironmentFacts } from "../session/item.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../session/store.ts";
import { buildGate } from "../trust/gate.ts";
import { whyNoTools } from "./agenttools.ts";
import { wantedOf } from "./allowance.ts";
import type { Approvals } from "./approvals.ts";
import { agentSource, systemOf } from "./child.ts";
import { type Connection, connectionFor, keyVariablesOfAgents } from "./connection.ts";
import { Conversation } from "./conversation.ts";
import type { Earlier } from "./conversationparts.ts";
import type { Host } from "./host.ts";
import { introduction } from "./introduction.ts";
import { directoryChange, keepToRecord, modelChange } from "./resume.ts";
import { agentOfRun, limitSetBy, settingsAs } from "./runas.ts";
import type { RunPatch } from "./runpatch.ts";
import { serverVariables } from "./servers.ts";
import { openSession, type Recorded, recordedIn } from "./sessions.ts";
import type { Settings } from "./settings.ts";
import { openUserHooks } from "./userhooks.ts";
import { type Definitions, definitionNotices, definitionsFor, directoriesOf, sourceOf } from "./definitions.ts";
import type { ModelStance, Stance } from "./stance.ts";
import type { AskUser } from "../tools/askuser.ts";
import type { Elicit } from "../tools/elicitation.ts";
import type { UserQuestions } from "./userquestions.ts";
import { openToolkit } from "./toolkit.ts";
import ownSystem from "./system.md" with { type: "text" };
import { toolChoice, toolsOf } from "./tools.ts";
import { openWorkspace } from "./workspace.ts";
import { assertSandbox, type Confinement } from "./workspace/confinement.ts";

type ConversationOptions = {
  settings: Settings;
  own: OwnOutput;
  patch?: RunPatch | undefined;
  /** The first request follows at once, so its connection is opened first. */
  soon?: boolean;
  /** The conversation's track in cassettes; absent for the first one of a process. */
  track?: string;
  earlier?: Earlier | undefined;
  approvals?: Approvals | undefined;
  questions?: UserQuestions | undefined;
  elicit?: Elicit | undefined;
  /** Ends the start of the MCP servers. */
  interrupt?: AbortSignal | undefined;
};

/** Opens a conversation. A failed start leaves nothing behind, not even a session. */
export async function openConversation(
  host: Host,
  { settings: given, track, soon = false, interrupt, ...others }: ConversationOptions,
  signal: AbortSignal,
): Promise<Conversation> {
  await using held = new AsyncDisposableStack();
  const events = new Mailbox<Event>();
  const post = (event: Event) => events.post(event);
  assertUsable(given);
  const store = host.store(given.database);
  const open = others.earlier?.session;
  const recorded = open ?? recordedIn(store, given.session, given.root);
  const definitions = definitionsFor(given, permissionsOf(given, recorded?.environment).allowance);
  const agent = agentOfRun(given, { agents: definitions.agents, recorded });
  const settings = settingsAs(agent, given);

  const connect = (known: Recorded | undefined) =>
    connectionFor(settings, { traffic: host.traffic, track, recorded: known, soon, post, signal });
  const { session, connected } = await openConnected(store, { settings, recorded, open, connect, held }, signal);
  const { model, info, facts: connection, edit } = connected;

  const opening = { host, session, settings, definitions, agent, connected, post };
  const { allowance, workspace } = await openProject(opening, held);
  const asks = { ask: asking(others.questions), canElicit: others.elicit !== undefined };
  const place = { settings, workspace, allowance, info, edit, definitions, agent, ...asks, interrupt, post };
  const toolkit = held.use(await openToolkit(place, signal));
  const { catalog, servers } = toolkit;
  const choice = toolChoice(settings);
  const gateFor = (mode: Mode) => buildGate({ mode, ...choice });
  const stance: Stance = { model, info, connected, catalog, gateFor, allowance };
  const { skills, prompts, agents, plugins } = definitions;
  const keys = new Set(connected.key === undefined ? [] : [connected.key]);
  const introduced = { host, settings, workspace, session, stance, toolkit, plugins, agent };
  const { traffic } = host;
  const family = { settings, store, toolkit, skills, agents, keys, traffic, track };
  const system = agent === undefined ? ownSystem : systemOf(agent);
  const opened = { host, session, stance, system, workspace, servers, events, skills, prompts, settings, definitions };
  const withModel = async (changed: Settings): Promise<ModelStance | undefined> => {
    const known = { traffic, track, recorded: knownOf(session), soon: false, post, signal };
    const other = await connectionFor(settingsAs(agent, changed), known);
    if (!workspace.hides(other.keyVariables)) return undefined;
    if (other.key !== undefined) keys.add(other.key);
    const { model: next, info: about } = other;
    const catalog = await toolkit.catalogFor({ edit: other.edit, skills: sourceOf(skills, about) });
    return { model: next, info: about, connected: other, catalog };
  };
  const conversation = new Conversation({
    ...introduction({ ...introduced, skills: toolkit.skills }),
    agents: agentSource(family),
    withModel,
    ...opened,
    ledger: others.earlier?.ledger ?? openLedger(limitsOf(settings, agent)),
    ...others,
    watchKey: watchForKeys(keys),
    hooks: await openUserHooks(definitions.hooks, post),
    resume: resumeLine(session.id, settings, connection),
  });
  held.move();
  return conversation;
}

function asking(questions: UserQuestions | undefined): AskUser | undefined {
  return questions && ((question) => questions.ask(question));
}

/** The record of a session that has one. */
function knownOf(session: Session): Recorded | undefined {
  return session.environment === undefined ? undefined : session;
}

type Opening = {
  host: Host;
  session: Session;
  settings: Settings;
  definitions: Definitions;
  agent: AgentDefinition | undefined;
  connected: Connection;
  post: (event: Event) => void;
};

/** The permissions of the conversation, and the workspace that is made by them. */
async function openProject(opening: Opening, held: AsyncDisposableStack) {
  const { host, session, settings, definitions, agent, connected, post } = opening;
  const { allowance, notices } = compareWithRecord(session, { settings, info: connected.info });
  for (const notice of [...notices, ...definitionNotices(definitions)]) post(notice);
  const tooFew = whyNoTools(agent, settings.tools);
  if (tooFew !== undefined) post({ type: "notice", level: "warn", code: "agent", message: tooFew });
  const keyVariables = [
    ...connected.keyVariables,
    ...keyVariablesOfAgents(connected, definitions.agents, settings),
    ...serverVariables(definitions.servers),
  ];
  host.traffic.hide(keyVariables.map((name) => settings.env[name] ?? ""));
  const accept = (confinement: Confinement) =>
    assertSandbox(confinement, allowance, { verifies: settings.verify !== undefined });
  const options = { settings, allowance, accept, keyVariables, post, reaper: host.reaper, stop: host.signal };
  const workspace = held.use(await openWorkspace({ ...options, definitionDirectories: directoriesOf(definitions) }));
  return { allowance, workspace };
}

type Wishes = { settings: Settings; info: ModelInfo };

/** The permissions of the conversation, and how it differs from what the session has recorded. */
function compareWithRecord({ environment }: Session, { settings, info }: Wishes) {
  const { allowance, notices } = permissionsOf(settings, environment);
  const changed = modelChange(environment, { model: info.name, provider: info.provider });
  return { allowance, notices: [...directoryChange(environment, settings.root), ...changed, ...notices] };
}

function permissionsOf({ loaded, explicit }: Settings, recorded: EnvironmentFacts | undefined) {
  return keepToRecord(recorded, wantedOf(loaded.config), explicit);
}

type Connecting = {
  settings: Settings;
  recorded: Recorded | undefined;
  /** The session when it is open already. */
  open: Session | undefined;
  connect: (recorded: Recorded | undefined) => Promise<Connection>;
  held: AsyncDisposableStack;
};

/** The session, and its model, which is found first: a missing key is told before a session is waited for. */
async function openConnected(store: Store, connecting: Connecting, signal: AbortSignal) {
  const { settings, recorded, open, connect, held } = connecting;
  if (open !== undefined) return { session: open, connected: await connect(knownOf(open)) };
  const connected = await connect(recorded);
  const session = held.use(await openSession(store, { settings, recorded, info: connected.info }, signal));
  // Another process may have changed it while it was waited for.
  const isCurrent = Bun.deepEquals(session.environment, recorded?.environment);
  return { session, connected: isCurrent ? connected : await connect(session) };
}

/** Finds mistakes in the flags and the configuration before a model is looked for. */
function assertUsable(settings: Settings): void {
  toolsOf(settings);
  parseRules(settings.loaded.config.egress);
  parseUpstream(settings.env);
}

/** The command line that continues the session; null when nothing is kept or no provider was asked. */
function resumeLine(id: string, settings: Settings, connection: ConnectionFacts | undefined): string | null {
  if (settings.database === inMemory || connection === undefined) return null;
  return [`koda ${settings.command} --resume`, id, ...settings.resumeFlags].join(" ");
}

function limitsOf({ loaded: { config } }: Settings, agent: AgentDefinition | undefined): Limits {
  const { maxTurns, maxTokens, maxCostUsd } = config.limits;
  return {
    maxTurns,
    ...(agent?.maxTurns === maxTurns && { setBy: limitSetBy(agent.name) }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxCostUsd !== undefined && { maxCostUsd }),
  };
}
