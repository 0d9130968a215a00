import type { Instructions } from "../agents/instructions.ts";
import type { Skills } from "../agents/skills.ts";
import type { EventOf } from "../engine/event.ts";
import type { ModelSettings } from "../model/model.ts";
import type { ConnectionFacts } from "../session/item.ts";
import type { Plugins } from "../agents/plugins.ts";
import type { ServerStatus } from "../mcp/servers.ts";
import type { Session } from "../session/session.ts";
import type { Settings } from "./settings.ts";
import type { Stance } from "./stance.ts";
import type { Workspace } from "./workspace.ts";

type Facts = {
  session: Session;
  stance: Stance;
  workspace: Workspace;
  settings: Settings;
  connection: ConnectionFacts | undefined;
  /** The effort that is sent. */
  effort: ModelSettings["reasoningEffort"];
  isReplay: boolean;
  servers: readonly ServerStatus[];
  plugins: Plugins;
  instructions: Instructions;
  /** Those that the model can load. */
  skills: Skills;
  agent: string | undefined;
};

/** The first event of a conversation. */
export function startEvent(facts: Facts): EventOf<"session.start"> {
  const {
    session,
    stance,
    workspace,
    settings,
    connection,
    effort,
    isReplay,
    instructions,
    skills,
    servers,
    plugins,
    agent,
  } = facts;
  const { info, catalog, allowance } = stance;
  const { name: backend, filesystem, network, notes, proxies } = workspace.backend;
  const { mode: egress, allow, deny } = workspace.egress;
  return {
    type: "session.start",
    session: session.id,
    root: session.info.root,
    ...(session.info.parent !== undefined && { parent: session.info.parent }),
    title: session.info.title,
    source: sourceOf(session, settings),
    resumed: session.resumed,
    version: settings.version,
    model: info.name,
    provider: info.provider,
    wire: info.wire,
    ...(effort !== undefined && { effort }),
    base_url: isReplay ? null : (connection?.endpoint ?? null),
    cwd: settings.root,
    mode: allowance.mode,
    ...(agent !== undefined && { agent }),
    sandbox: { backend, filesystem, network, notes: [...notes] },
    egress: {
      mode: egress,
      http_port: proxies?.http.port ?? null,
      socks_port: proxies?.socks.port ?? null,
      allow: [...allow],
      deny: [...deny],
    },
    tools: catalog.current.tools.map(({ name }) => name),
    mcp: servers.map((server) => ({ ...server })),
    instructions: instructions.blocks.map(({ path }) => path),
    skills: [...skills.byName.keys()],
    plugins: plugins.list.map(({ name, version, revision }) => ({ name, version, revision })),
    skipped: [...settings.loaded.project.skipped],
    limits: limitsOf(settings),
  };
}

function sourceOf({ info, resumed }: Session, { session: { kind } }: Settings): EventOf<"session.start">["source"] {
  if (info.agent !== undefined) return "agent";
  if (!resumed) return "new";
  return kind === "fork" ? "fork" : "resume";
}

function limitsOf({ loaded, waitLimitMs }: Settings): Record<string, number> {
  const { maxTurns, maxTokens, maxCostUsd, timeoutMs, idleTimeoutMs, maxCommandTimeMs } = loaded.config.limits;
  return givenOnly({
    max_turns: maxTurns,
    max_tokens: maxTokens,
    max_cost_usd: maxCostUsd,
    timeout_ms: timeoutMs,
    idle_timeout_ms: idleTimeoutMs,
    wait_limit_ms: waitLimitMs || undefined,
    max_command_time_ms: maxCommandTimeMs,
  });
}

function givenOnly(limits: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, limit]) => (limit === undefined ? [] : [[name, limit]])),
  );
}
