import { KodaError } from "../errors.ts";
import { type Cassette, readCassette, recordedModel } from "../model/cassette.ts";
import { connectModel } from "../model/connect.ts";
import { endpointOf } from "../model/address.ts";
import { demoCassette, demoProvider, assertNoDemoDirectory } from "../model/demo.ts";
import { type Fetch, platformFetch } from "../model/fetch.ts";
import { secretVariables } from "../model/headers.ts";
import { imagesNotAccepted, withImageFallback } from "../model/images.ts";
import type { Model, ModelInfo, ModelSettings } from "../model/model.ts";
import type { ApiKey } from "../model/providers.ts";
import { recordTo, secretsIn } from "../model/record.ts";
import { replayFrom } from "../model/replay.ts";
import { type ModelChoice, type ResolvedModel, resolveModel } from "../model/resolve.ts";
import { instantRetry, standardRetry } from "../model/retry.ts";
import { supportedSettings } from "../model/settings.ts";
import type { ConnectionFacts } from "../session/item.ts";
import { assertSameEndpoint, connectionFacts, isModelFlag, isNamedByFlag } from "./endpoint.ts";
import type { Notice } from "./engine.ts";
import type { Recorded } from "./sessions.ts";
import type { Settings } from "./settings.ts";

/** The model of a run, and the variables that may hold its key: commands never see those. */
export type Connection = {
  model: Model;
  info: ModelInfo;
  key: ApiKey | undefined;
  keyVariables: readonly string[];
  /** The part that the session records; undefined when no provider is asked. */
  facts: ConnectionFacts | undefined;
  close(): void;
};

type Circumstances = { signal: AbortSignal; recorded: Recorded | undefined; tell: (notice: Notice) => void };

/** Connects to the model that is asked for, over the network or over a cassette. */
export async function connectionFor(
  settings: Settings,
  { recorded, tell, signal }: Circumstances,
): Promise<Connection> {
  const { record, replay } = settings.cassette;
  const played = replay === undefined ? undefined : readCassette(replay);
  const resolved = await resolve(settings, { recorded, played, signal });
  const { provider, info, key } = resolved;
  const isOffline = played !== undefined || provider.name === demoProvider.name;
  if (recorded !== undefined && !isOffline) assertSameEndpoint(recorded, resolved, settings);
  if (settings.hasImages && info.images === false) throw imagesNotAccepted(info);
  const wanted = settingsFor(info, settings.model, recorded);
  const { settings: supported, dropped } = supportedSettings(wanted, info);
  for (const message of dropped) tell({ type: "notice", level: "warn", code: "model_settings", message });

  const line = lineOf(settings, { resolved, played, tell });
  const recorder = record === undefined ? undefined : recordTo(record, recordingOf(settings, resolved, line.fetch));
  const connected = (known: ModelInfo) =>
    connectModel({
      ...resolved,
      info: known,
      settings: supported,
      fetch: recorder?.fetch ?? line.fetch,
      env: settings.env,
      retry: line.isTape ? instantRetry : standardRetry,
      streamIdleMs: settings.loaded.config.modelDefaults.streamIdleMs,
      userAgent: `koda/${settings.version}`,
    });
  const onRefusal = (message: string) => tell({ type: "notice", level: "warn", code: "images", message });
  const model = info.images === undefined ? withImageFallback(connected, { info, onRefusal }) : connected(info);
  const keyVariables = secretVariables(provider);
  const facts = isOffline ? recorded?.environment?.connection : connectionFacts(resolved, wanted);
  return { model, info, key, keyVariables, facts, close: () => recorder?.close() };
}

/** A session keeps its effort, temperature and longest reply until a flag or another model replaces them. */
function settingsFor(info: ModelInfo, flags: ModelSettings, recorded: Recorded | undefined): ModelSettings {
  const before = recorded?.environment;
  if (before?.connection === undefined || before.provider !== info.provider || before.model !== info.name) return flags;
  const { reasoningEffort, temperature, maxOutputTokens } = before.connection;
  return {
    ...(reasoningEffort !== undefined && { reasoningEffort }),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...flags,
  };
}

/**
 * Flags come first, then what the session or the cassette was recorded with, then the environment and the
 * configuration: those are of every run, and a recording is of one model.
 */
function wantedBy(settings: Settings, recorded: Recorded | undefined, played: Cassette | undefined): ModelChoice {
  const { loaded, endpoint } = settings;
  const isNamed = isModelFlag(settings);
  const tape = played && recordedModel(played);
  const before = recorded?.info ?? tape;
  const model = isNamed || before === undefined ? loaded.config.model : nameOf(before, endpoint.baseUrl);
  const wire = endpoint.wire ?? tape?.wire ?? (isNamed ? undefined : recorded?.environment?.connection?.wire);
  const apiKeyEnv = endpoint.apiKeyEnv ?? keyVariableFor(endpoint.baseUrl, recorded);
  return { ...endpoint, ...(apiKeyEnv && { apiKeyEnv }), ...(wire && { wire }), ...(model !== undefined && { model }) };
}

/** The address that a session was recorded with takes the key that it had there. */
function keyVariableFor(baseUrl: string | undefined, recorded: Recorded | undefined): string | undefined {
  const before = recorded?.environment?.connection;
  return baseUrl !== undefined && before?.endpoint === endpointOf({ baseUrl }) ? before.keyVariable : undefined;
}

function nameOf({ provider, model }: { provider: string; model: string }, baseUrl: string | undefined): string {
  if (provider === demoProvider.name) return provider;
  // An endpoint without a name of its own: no table has it.
  return provider === "custom" && baseUrl !== undefined ? model : `${provider}/${model}`;
}

type Sources = { recorded: Recorded | undefined; played: Cassette | undefined; signal: AbortSignal };

async function resolve(settings: Settings, { recorded, played, signal }: Sources): Promise<ResolvedModel> {
  const { config } = settings.loaded;
  const writable = [settings.root, ...config.sandbox.write];
  const wanted = wantedBy(settings, recorded, played);
  try {
    return await resolveModel(wanted, { config, env: settings.env, offline: played !== undefined, signal, writable });
  } catch (error) {
    // The name came from the record, so it is not the command line that is wrong.
    if (recorded === undefined || !(error instanceof KodaError) || error.code !== "usage" || isNamedByFlag(settings))
      throw error;
    const { id, provider, model } = recorded.info;
    const address = recorded.environment?.connection?.endpoint ?? "URL";
    const provided = provider === "custom" ? "" : `configure the provider "${provider}", `;
    throw new KodaError(
      "config",
      `Session "${id}" used ${provider}/${model}, which is not configured: ${provided}pass --base-url ${address}, or name another model with -m`,
    );
  }
}

type Line = { resolved: ResolvedModel; played: Cassette | undefined; tell: (notice: Notice) => void };

/** What requests go through: the network, or a tape. */
function lineOf(
  { cassette, root: cwd }: Settings,
  { resolved, played, tell }: Line,
): { fetch: Fetch; isTape: boolean } {
  if (played !== undefined) {
    const onDivergence = (message: string) => tell({ type: "notice", level: "warn", code: "replay", message });
    return { fetch: replayFrom(played, { cwd, loose: cassette.loose, onDivergence }), isTape: true };
  }
  if (resolved.provider.name !== demoProvider.name) return { fetch: platformFetch, isTape: false };
  assertNoDemoDirectory(cwd);
  return { fetch: replayFrom(demoCassette(), { cwd, loose: true }), isTape: true };
}

function recordingOf(
  { version, root: cwd, env }: Settings,
  { provider, info, key, headers }: ResolvedModel,
  fetch: Fetch,
) {
  const own = [key?.value, ...provider.keys.map((name) => env[name])].filter((value) => value !== undefined);
  return {
    version,
    provider: provider.name,
    model: info.name,
    cwd,
    secrets: [...own, ...(headers?.secrets ?? []), ...secretsIn(env)],
    fetch,
  };
}
