import { noPrompts } from "../../lib/agents/prompts.ts";
import { noSkills } from "../../lib/agents/skills.ts";
import { Mailbox } from "../../lib/async/mailbox.ts";
import type { HookConfig } from "../../lib/config/config.ts";
import { loadConfig } from "../../lib/config/load.ts";
import type { Overrides } from "../../lib/config/overrides.ts";
import { Conversation } from "../../lib/conversation/conversation.ts";
import { Host } from "../../lib/conversation/host.ts";
import { runTask } from "../../lib/conversation/exec.ts";
import { wantedOf } from "../../lib/conversation/allowance.ts";
import { openWorkspace } from "../../lib/conversation/workspace.ts";
import type { Connection } from "../../lib/conversation/connection.ts";
import { ServerSet } from "../../lib/conversation/serverset.ts";
import { assertSandbox } from "../../lib/conversation/workspace/confinement.ts";
import type { Event } from "../../lib/engine/event.ts";
import { openHooks } from "../../lib/hooks/hooks.ts";
import { openLedger } from "../../lib/engine/ledger.ts";
import type { Model, ModelEvent } from "../../lib/model/model.ts";
import type { ItemOf } from "../../lib/session/item.ts";
import { catalogOf } from "../../lib/tools/catalog.ts";
import { builtInTools } from "../../lib/tools/registry.ts";
import { succeeded, type Tool } from "../../lib/tools/tool.ts";
import { buildGate, type Gate } from "../../lib/trust/gate.ts";
import { makePlace, type Place } from "./place.ts";

const usage = { input: 1, cached: 0, output: 1, reasoning: 0 };

/** A reply that is text only. */
export const said = (text: string): ModelEvent[] => [
  { type: "text", text },
  { type: "end", reason: "stop", usage },
];

/** A reply that asks for calls: each a tool, with its arguments and perhaps an id. */
export const called = (...calls: readonly (string | readonly [tool: string, input: unknown, id?: string])[]) => [
  ...calls.map((call): ModelEvent => {
    const [tool, input, id = ""] = typeof call === "string" ? [call, {}] : call;
    return { type: "call", call: { type: "call", id, tool, arguments: JSON.stringify(input) } };
  }),
  { type: "end", reason: "calls", usage } satisfies ModelEvent,
];

/** A model that gives these replies, one a request. */
export function scripted(...replies: (readonly ModelEvent[])[]): Model {
  let next = 0;
  return async function* () {
    yield replies[next++] ?? [];
  };
}

/** A tool that takes anything and only reads, as far as it claims. */
export function tool(name: string, body: (signal: AbortSignal) => unknown): Tool {
  const claim = () => ({ effect: "read" as const, writes: [] });
  const run: Tool["run"] = async (_, { signal }) => (await body(signal), succeeded("done"));
  return { name, about: "", input: { type: "object" }, claim, run };
}

export type Scene = {
  tools?: readonly Tool[];
  gate?: Gate;
  database?: string;
  sandboxed?: boolean;
  provider?: string;
  overrides?: Overrides;
  contextWindow?: number;
  maxTurns?: number;
  /** In place of the wait before calls that may write. */
  before?: (signal: AbortSignal) => Promise<void>;
  hooks?: readonly HookConfig[];
  /** The environment item of the first turn. */
  environment?: ItemOf<"environment">;
};

/** A conversation with a model of the test's own and with everything else as it is. */
export async function converseIn(host: Host, place: Place, model: Model, scene: Scene = {}): Promise<Conversation> {
  const { tools = builtInTools, database = ":memory:", sandboxed = false, provider = "p", overrides = {} } = scene;
  const { env, project: root, home } = place;
  const loaded = await loadConfig({ env, home, root, bare: true, isTrusted: false, sets: [], overrides });
  const { mode } = loaded.config;
  const gate = scene.gate ?? buildGate({ mode });
  const events = new Mailbox<Event>();
  const allowance = wantedOf(loaded.config);
  const directories = { dataDirectory: `${home}/.koda`, configDirectory: undefined, accountHome: home };
  const settings = { root, home, env, loaded, database, sandboxed, ...directories };
  const info = { provider, name: "m", wire: "chat", contextWindow: scene.contextWindow ?? 100_000 } as const;
  const post = (event: Event) => events.post(event);
  const workspace = await openWorkspace({
    settings,
    allowance,
    accept: (confinement) => assertSandbox(confinement, allowance),
    keyVariables: [],
    post,
    reaper: host.reaper,
    stop: host.signal,
  });
  // Without a sandbox all workspaces share one guard.
  const { before = workspace.repositories.before } = scene;
  Object.assign(workspace, { repositories: { ...workspace.repositories, before } });
  const session = host.store(database).create({ cwd: root, model: "m", provider, mode });
  return new Conversation({
    host,
    session,
    workspace,
    servers: new ServerSet(),
    stance: {
      model,
      info,
      catalog: { current: catalogOf(tools), advance: async () => undefined },
      // Asked only by agents, of which there are none.
      connected: {} as Connection,
      gateFor: () => gate,
      allowance,
    },
    system: "",
    ledger: openLedger({ maxTurns: scene.maxTurns ?? 10 }),
    events,
    start: {
      type: "session.start",
      session: session.id,
      root: session.id,
      title: "",
      source: "new",
      resumed: false,
      version: "0",
      model: "m",
      provider,
      wire: "chat",
      base_url: null,
      cwd: root,
      mode,
      sandbox: { backend: workspace.backend.name, filesystem: "", network: "", notes: [] },
      egress: { mode: "allowlist", http_port: null, socks_port: null, allow: [], deny: [] },
      tools: [],
      mcp: [],
      instructions: [],
      skills: [],
      plugins: [],
      skipped: [],
      limits: {},
    },
    environment: () => (session.environment === undefined ? scene.environment : undefined),
    settings,
    skills: noSkills,
    prompts: noPrompts,
    own: { look: () => {}, has: () => false },
    watchKey: () => undefined,
    hooks: scene.hooks && openHooks(scene.hooks, { tools: [], warn: () => {} }),
    resume: null,
  });
}

export const prompt = [{ type: "text" as const, text: "hi" }];

/** A host with one conversation in it, and a place of its own. */
export async function openScene(model: Model, scene: Scene = {}) {
  const place = makePlace();
  const stop = new AbortController();
  const host = new Host({ stop, cassette: { loose: false } });
  const conversation = await converseIn(host, place, model, scene);
  return {
    place,
    stop,
    host,
    conversation,
    /** All events of one request, from the first to the last. */
    events: () =>
      runTask(host, {
        open: () => Promise.resolve({ conversation, request: { prompt }, failOn: [] }),
        conclude: (outcome) => Promise.resolve(outcome),
        report: () => Promise.resolve(),
      }),
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}
