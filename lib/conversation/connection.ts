import type { Agents } from "../agents/agents.ts";
import type { EditDialect } from "../config/config.ts";
import type { Notice } from "../engine/event.ts";
import { KodaError } from "../errors.ts";
import { endpointOf } from "../model/address.ts";
import { type Cassette, modelOfTrack, recordedModel } from "../model/cassette.ts";
import { connectModel } from "../model/connect.ts";
import { assertNoDemoDirectory, demoCassette, demoProvider } from "../model/demo.ts";
import { editDialectOf } from "../model/editdialect.ts";
import { withFallbacks } from "../model/fallback.ts";
import type { Fetch } from "../model/fetch.ts";
import { secretVariables } from "../model/headers.ts";
import { assertPriced } from "../model/catalog.ts";
import { imagesNotAccepted } from "../model/images.ts";
import type { Model, ModelInfo, ModelSettings } from "../model/model.ts";
import type { ApiKey } from "../model/key.ts";
import { secretsIn } from "../model/record.ts";
import { chooseBeside, type ModelChoice, resolveBeside, type ResolvedModel, resolveModel } from "../model/resolve.ts";
import { instantRetry, standardRetry } from "../model/retry.ts";
import { supportedSettings } from "../model/settings.ts";
import type { Traffic } from "../model/traffic.ts";
import type { ConnectionFacts } from "../session/item.ts";
import { writableRoots } from "./allowance.ts";
import {
  assertConfigured,
  assertSameEndpoint,
  connectionFacts,
  isModelFlag,
  isNamedByFlag,
  providersFor,
  withIgnored,
  withoutKey,
  withRecordedWire,
} from "./endpoint.ts";
import type { Recorded } from "./sessions.ts";
import type { Settings } from "./settings.ts";

/** The model of a conversation. Commands never see the variables that may hold its key. */
export type Connection = {
  resolved: ResolvedModel;
  /** The settings of requests, supported or not. */
  wanted: ModelSettings;
  model: Model;
  info: ModelInfo;
  key: ApiKey | undefined;
  keyVariables: readonly string[];
  /** The part that the session records; undefined when no provider is asked. */
  facts: ConnectionFacts | undefined;
  /** The effort that is sent. */
  effort: ModelSettings["reasoningEffort"];
  /** The dialect of the editing tool that the model is offered. */
  edit: EditDialect;
};

type Circumstances = {
  traffic: Traffic;
  /** The conversation's track in cassettes; undefined for the first one of a process. */
  track?: string | undefined;
  recorded: Recorded | undefined;
  /** The first request follows at once. */
  soon: boolean;
  post: (notice: Notice) => void;
  signal: AbortSignal;
};

/** Connects to the chosen model, over the network or with a cassette. */
export async function connectionFor(settings: Settings, circumstances: Circumstances): Promise<Connection> {
  return connectTo(await resolve(settings, circumstances), settings, circumstances);
}

/** The connection of an agent: to the model of its parent, or to the one that its definition names. */
export async function connectionBeside(
  { resolved, wanted }: Connection,
  { model, settings }: { model: string | undefined; settings: Settings },
  circumstances: Circumstances,
): Promise<Connection> {
  const { traffic, signal } = circumstances;
  const { loaded, env, dataDirectory } = settings;
  const offline = traffic.replayed !== undefined;
  const context = { config: loaded.config, env, dataDirectory, offline, signal, writable: writableRoots(settings) };
  if (model === undefined) return connectTo(resolved, { ...settings, model: wanted }, circumstances);
  const other = asRecorded(await resolveBeside(resolved, model, context), circumstances);
  return connectTo(other, { ...settings, model: {}, hasImages: false }, circumstances);
}

/** The provider need not be configured for a replay, which has the model's name and its wire. */
function asRecorded(other: ResolvedModel, { traffic: { replayed }, track }: Circumstances): ResolvedModel {
  const recorded = replayed && track !== undefined ? modelOfTrack(replayed, track) : undefined;
  if (recorded === undefined) return other;
  const { model: name, wire } = recorded;
  return { ...other, provider: { ...other.provider, wire }, info: { ...other.info, name, wire } };
}

/** The variables that may hold the keys of its agents' models. Nobody is asked for them. */
export function keyVariablesOfAgents(
  { resolved }: Connection,
  { byName }: Agents,
  { loaded: { config }, env }: Pick<Settings, "loaded" | "env">,
): string[] {
  const models = [...byName.values()].flatMap(({ model }) => model ?? []);
  return models.flatMap((model) => secretVariables(chooseBeside(resolved, model, { config, env }).provider));
}

function connectTo(resolved: ResolvedModel, settings: Settings, circumstances: Circumstances): Connection {
  const { traffic, recorded, post } = circumstances;
  const { provider, info, key } = resolved;
  const isDemo = provider.name === demoProvider.name;
  const isOffline = traffic.replayed !== undefined || isDemo;
  if (recorded !== undefined && !isOffline) assertSameEndpoint(recorded, resolved, settings);
  if (settings.hasImages && info.images === false) throw imagesNotAccepted(info);
  if (settings.loaded.config.limits.maxCostUsd !== undefined && !isDemo) assertPriced(info);
  const wanted = settingsFor(info, settings.model, recorded);
  const { settings: supported, dropped } = supportedSettings(wanted, info);
  const warn = (code: string, message: string) => post({ type: "notice", level: "warn", code, message });
  for (const message of dropped) warn("model_settings", message);
  if (isDemo && traffic.replayed === undefined) assertNoDemoDirectory(settings.root);

  const fetch = openLine(settings, resolved, circumstances);
  const connected = (known: ModelInfo) =>
    connectModel({
      ...resolved,
      info: known,
      settings: supportedSettings(wanted, known).settings,
      fetch,
      env: settings.env,
      retry: { ...(isOffline ? instantRetry : standardRetry), waitLimitMs: settings.waitLimitMs },
      streamIdleMs: settings.loaded.config.modelDefaults.streamIdleMs,
      userAgent: `koda/${settings.version}`,
    });
  const model = withFallbacks(connected, {
    info,
    settings: supported,
    onFallback: ({ code, message }) => warn(code, message),
  });
  const facts = isOffline ? recorded?.environment?.connection : connectionFacts(resolved, wanted);
  const edit = wanted.edit ?? info.edit ?? editDialectOf(info.name);
  const effort = supported.reasoningEffort;
  return { resolved, wanted, model, info, key, keyVariables: secretVariables(provider), facts, effort, edit };
}

/** A session keeps its effort, temperature, longest reply and dialect until a flag or another model replaces them. */
function settingsFor(info: ModelInfo, flags: ModelSettings, recorded: Recorded | undefined): ModelSettings {
  const before = recorded?.environment;
  if (before?.connection === undefined || before.provider !== info.provider || before.model !== info.name) return flags;
  const { reasoningEffort, temperature, maxOutputTokens, edit } = before.connection;
  return {
    ...(reasoningEffort !== undefined && { reasoningEffort }),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(edit !== undefined && { edit }),
    ...flags,
  };
}

/**
 * The choice of model: flags first, then the model of the recorded session or cassette, then the environment and the
 * configuration, which are not about this session.
 */
function wantedBy(settings: Settings, recorded: Recorded | undefined, played: Cassette | undefined): ModelChoice {
  const { loaded, endpoint } = settings;
  const isNamed = isModelFlag(settings);
  const tape = played && recordedModel(played);
  const before = recorded?.info ?? tape;
  const model = isNamed || before === undefined ? loaded.config.model : nameOf(before, endpoint.baseUrl);
  const wire = endpoint.wire ?? tape?.wire;
  const apiKeyEnv = endpoint.apiKeyEnv ?? keyVariableFor(endpoint.baseUrl, recorded);
  return { ...endpoint, ...(apiKeyEnv && { apiKeyEnv }), ...(wire && { wire }), ...(model !== undefined && { model }) };
}

/** A session keeps the key variable of its recorded address. */
function keyVariableFor(baseUrl: string | undefined, recorded: Recorded | undefined): string | undefined {
  const before = recorded?.environment?.connection;
  return baseUrl !== undefined && before?.endpoint === endpointOf({ baseUrl }) ? before.keyVariable : undefined;
}

function nameOf({ provider, model }: { provider: string; model: string }, baseUrl: string | undefined): string {
  if (provider === demoProvider.name) return provider;
  // No table has an endpoint that was given by its address.
  return provider === "custom" && baseUrl !== undefined ? model : `${provider}/${model}`;
}

async function resolve(settings: Settings, { recorded, traffic, signal }: Circumstances): Promise<ResolvedModel> {
  const played = traffic.replayed;
  const isFromSession = recorded !== undefined && played === undefined && !isNamedByFlag(settings);
  if (isFromSession) assertConfigured(recorded, settings);
  const config = { ...settings.loaded.config, providers: providersFor(recorded, settings) };
  const writable = writableRoots(settings);
  const wanted = wantedBy(settings, recorded, played);
  try {
    const { env, dataDirectory } = settings;
    const context = { config, env, offline: played !== undefined, signal, writable, dataDirectory };
    const resolved = await resolveModel(wanted, context);
    return played === undefined ? withRecordedWire(resolved, settings, recorded) : resolved;
  } catch (error) {
    const isKey = error instanceof KodaError && error.code === "credentials";
    throw isKey && isFromSession ? withoutKey(recorded, error) : withIgnored(error, settings);
  }
}

function openLine(settings: Settings, resolved: ResolvedModel, { traffic, track, soon, post }: Circumstances): Fetch {
  const { version, root: cwd, env } = settings;
  const { provider, info, key, headers } = resolved;
  const own = [key?.value, ...provider.keys.map((name) => env[name])].filter((value) => value !== undefined);
  return traffic.open({
    name: track,
    cwd,
    writable: writableRoots(settings),
    header: { version, provider: provider.name, model: info.name },
    secrets: [...own, ...(headers?.secrets ?? []), ...secretsIn(env)],
    script: provider.name === demoProvider.name ? demoCassette() : undefined,
    onDivergence: (message) => post({ type: "notice", level: "warn", code: "replay", message }),
    soon: soon ? { baseUrl: provider.baseUrl, env } : undefined,
  });
}
