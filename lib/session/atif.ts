import { AgentPlaces, type SessionReading, type WrittenAgent } from "./agents.ts";
import { textOfParts } from "./content.ts";
import { argumentsOf, type DocumentWriter, endingOf, markerOf } from "./document.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import { sessionJson } from "./json.ts";
import type { SessionInfo } from "./log.ts";
import { type Results, withResults } from "./replies.ts";

/**
 * Harbor's Agent Trajectory Interchange Format: a step for each message, results in the step of the reply that called
 * for them. Only an agent's step may have calls and figures.
 */
export const atif: DocumentWriter = function* (session) {
  yield* trajectoryOf(session, session.version);
  yield "\n";
};

/** Agents are trajectories of their own in the same document; the result of their call refers to them. */
function* trajectoryOf(session: SessionReading, version: string): Generator<string> {
  const { info, total } = session;
  const places = new AgentPlaces(session);
  const embedded: SessionReading[] = [];
  /** Their ids, when they are in the document. */
  const embed = (named: readonly WrittenAgent[]) => {
    const present = named.map((agent) => agent.session).filter((agent) => agent !== undefined);
    embedded.push(...present);
    return present.map((agent) => agent.info.id);
  };
  yield `${JSON.stringify(headOf(info, version)).slice(0, -1)},"steps":[`;
  let model = nameOf(info);
  let count = 0;
  for (const { item, results } of withResults(session.items)) {
    if (item.kind === "environment") model = nameOf(item.facts);
    const agentsOf = (result: LoggedItem | ItemOf<"result">) => embed(places.behind(result));
    const step = stepOf(item, { results, model, agentsOf });
    agentsOf(item);
    if (step === undefined) continue;
    yield `${count === 0 ? "" : ","}\n${JSON.stringify({ step_id: ++count, timestamp: new Date(item.at), ...step })}`;
  }
  embed(places.rest());
  const totals = { ...totalsOf(info, total), total_steps: count };
  yield `\n],"final_metrics":${JSON.stringify(totals)}`;
  for (const [at, agent] of embedded.entries()) {
    yield at === 0 ? ',"subagent_trajectories":[\n' : ",\n";
    yield* trajectoryOf(agent, version);
  }
  yield embedded.length === 0 ? "}" : "\n]}";
}

function headOf(info: SessionInfo, version: string) {
  const { title, cwd, parent, turns, agent } = sessionJson(info);
  return {
    schema_version: "ATIF-v1.7",
    session_id: info.id,
    ...(agent !== undefined && { trajectory_id: info.id }),
    agent: { name: "koda", version, model_name: nameOf(info) },
    extra: { title, cwd, turns, ...(parent !== undefined && { parent }), ...(agent !== undefined && { agent }) },
  };
}

function nameOf({ provider, model }: { provider: string; model: string }): string {
  return `${provider}/${model}`;
}

/** By the format, tokens are those of the steps, and the cost is that of agents too. */
function totalsOf({ usage }: SessionInfo, { costUsd }: SessionInfo) {
  return known({
    total_prompt_tokens: usage.input,
    total_completion_tokens: usage.output,
    total_cached_tokens: usage.cached,
    total_cost_usd: costUsd,
  });
}

type Step = { source: "system" | "user" | "agent"; message: string } & Record<string, unknown>;

/** `agentsOf`: the trajectories of agents that a result refers to. */
type Around = { results: Results; model: string; agentsOf: (result: ItemOf<"result">) => readonly string[] };

function stepOf(item: LoggedItem, around: Around): Step | undefined {
  switch (item.kind) {
    case "environment":
    case "note":
    case "compaction":
      return item.text === "" ? undefined : { source: "system", message: item.text };
    case "user":
      return { source: "user", message: textOfParts(item.parts) };
    case "assistant":
      return stepOfReply(item, around);
    case "result":
      // Its call is not in the log.
      return { source: "system", message: textOfParts(item.parts) };
    case "turn_end": {
      const ending = endingOf(item);
      return ending === undefined ? undefined : { source: "system", message: ending };
    }
    case "rollback":
      return { source: "system", message: markerOf(item) };
    case "turn_start":
    case "todo":
    case "trim":
    case "images_removed":
      return undefined;
    default:
      return item satisfies never;
  }
}

function stepOfReply(item: ItemOf<"assistant">, { results, model, agentsOf }: Around): Step {
  const textOf = (type: "text" | "thinking") =>
    item.parts.flatMap((part) => (part.type === type ? [part.text] : [])).join("\n\n");
  const thoughts = textOf("thinking");
  const calls = item.parts.filter((part) => part.type === "call");
  const observed = calls.flatMap(({ id }) => results.get(id) ?? []);
  const { input, output, cached } = item.usage;
  const metrics = known({
    prompt_tokens: input,
    completion_tokens: output,
    cached_tokens: cached,
    cost_usd: item.costUsd ?? null,
  });
  return {
    source: "agent",
    model_name: model,
    message: textOf("text"),
    ...(thoughts !== "" && { reasoning_content: thoughts }),
    ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
    ...(observed.length > 0 && {
      observation: { results: observed.map((result) => resultOf(result, agentsOf(result))) },
    }),
    ...(Object.keys(metrics).length > 0 && { metrics }),
    extra: { finish: item.finish, ...(observed.length > 0 && { results: observed.map(outcomeOfResult) }) },
  };
}

function callOf({ id, tool, arguments: json }: { id: string; tool: string; arguments: string }) {
  const input = argumentsOf(json);
  const isRecord = typeof input === "object" && input !== null && !Array.isArray(input);
  return { tool_call_id: id, function_name: tool, arguments: isRecord ? input : { arguments: input } };
}

function resultOf({ call, parts }: ItemOf<"result">, agents: readonly string[]) {
  const references = agents.map((id) => ({ trajectory_id: id, session_id: id }));
  return {
    source_call_id: call,
    content: textOfParts(parts),
    ...(references.length > 0 && { subagent_trajectory_ref: references }),
  };
}

/** Beside the results: in them, readers of earlier versions of the format refuse what they do not know. */
function outcomeOfResult({ call, ok, denied, exitCode, agent }: ItemOf<"result">) {
  return {
    source_call_id: call,
    ok,
    ...(denied !== undefined && { denied }),
    ...(exitCode !== undefined && { exit_code: exitCode }),
    ...(agent !== undefined && { agent }),
  };
}

/** Figures that nobody reported are left out. */
function known(figures: Record<string, number | null>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(figures).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}
