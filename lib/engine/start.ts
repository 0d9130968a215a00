import type { ConnectionFacts } from "../session/item.ts";
import type { Mode } from "../trust/mode.ts";
import type { Engine, Start } from "./engine.ts";
import type { Settings } from "./settings.ts";
import type { Surroundings } from "./surroundings.ts";

type Scene = {
  settings: Settings;
  surroundings: Surroundings;
  mode: Mode;
  connection: ConnectionFacts | undefined;
  instructions: readonly string[];
};

/** What a run begins with, for whoever follows it: the first event. */
export function startOf(
  { session, info, tools }: Engine,
  { settings, surroundings, mode, connection, instructions }: Scene,
): Start {
  const { name: backend, filesystem, network, notes, proxies } = surroundings.backend;
  const { mode: egress, allow, deny } = surroundings.egress;
  const { maxTurns, maxTokens, timeoutMs, idleTimeoutMs, maxCommandTimeMs } = settings.loaded.config.limits;
  const limits = {
    max_turns: maxTurns,
    max_tokens: maxTokens,
    timeout_ms: timeoutMs,
    idle_timeout_ms: idleTimeoutMs,
    max_command_time_ms: maxCommandTimeMs,
  };
  return {
    session: session.id,
    resumed: session.resumed,
    version: settings.version,
    model: info.name,
    provider: info.provider,
    wire: info.wire,
    base_url: settings.cassette.replay === undefined ? (connection?.endpoint ?? null) : null,
    cwd: settings.root,
    mode,
    sandbox: { backend, filesystem, network, notes: [...notes] },
    egress: {
      mode: egress,
      http_port: proxies?.http.port ?? null,
      socks_port: proxies?.socks.port ?? null,
      allow: [...allow],
      deny: [...deny],
    },
    tools: tools.map((tool) => tool.name),
    mcp: [],
    instructions: [...instructions],
    skipped: [...settings.loaded.skipped],
    limits: givenOnly(limits),
  };
}

function givenOnly(limits: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, limit]) => (limit === undefined ? [] : [[name, limit]])),
  );
}
