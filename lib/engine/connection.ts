import { KodaError } from "../errors.ts";
import { type Cassette, readCassette, recordedModel } from "../model/cassette.ts";
import { connect } from "../model/connect.ts";
import { demoCassette, demoProvider, refuseOldDemo } from "../model/demo.ts";
import { type Fetch, platformFetch } from "../model/fetch.ts";
import type { Model, ModelInfo } from "../model/model.ts";
import { recordTo, secretsIn } from "../model/record.ts";
import { replayFrom } from "../model/replay.ts";
import { type Resolved, resolveModel, type Wanted } from "../model/resolve.ts";
import { instantRetry, standardRetry } from "../model/retry.ts";
import { fitting } from "../model/settings.ts";
import type { SessionInfo } from "../session/log.ts";
import type { Notice } from "./engine.ts";
import type { Settings } from "./settings.ts";

/** The model of a run, and the variables that may hold its key: commands never see those. */
export type Connection = {
  model: Model;
  info: ModelInfo;
  keyVariables: readonly string[];
  close(): void;
};

type Circumstances = { recorded: SessionInfo | undefined; tell: (notice: Notice) => void };

/** Connects to the model that is asked for, over the network or over a cassette. */
export async function connectionFor(settings: Settings, { recorded, tell }: Circumstances): Promise<Connection> {
  const { record, replay } = settings.cassette;
  const played = replay === undefined ? undefined : readCassette(replay);
  const resolved = await resolve(settings, recorded, played);
  const { provider, info, key } = resolved;
  const { settings: taken, left } = fitting(settings.model, info);
  for (const message of left) tell({ type: "notice", level: "warn", code: "model_settings", message });

  const line = lineOf(settings, { resolved, played, tell });
  const recorder = record === undefined ? undefined : recordTo(record, recordingOf(settings, resolved, line.fetch));
  const model = connect({
    ...resolved,
    settings: taken,
    fetch: recorder?.fetch ?? line.fetch,
    retry: line.isTape ? instantRetry : standardRetry,
    streamIdleMs: settings.loaded.config.modelDefaults.streamIdleMs,
    userAgent: `koda/${settings.version}`,
  });
  const keyVariables = key === undefined ? provider.keys : [...provider.keys, key.variable];
  return { model, info, keyVariables, close: () => recorder?.close() };
}

/**
 * What the command line and its environment name comes first; then what the session was recorded with, or the
 * cassette; then the configuration.
 */
function wantedBy(
  { loaded, endpoint }: Settings,
  recorded: SessionInfo | undefined,
  played: Cassette | undefined,
): Wanted {
  const origin = loaded.origins.get("model") ?? "default";
  // A tape is of one model: what the environment says of every run is not meant for it.
  const naming = played === undefined ? /^(flag|environment)/ : /^flag/;
  const isNamedNow = naming.test(origin) || endpoint.baseUrl !== undefined;
  const tape = played && recordedModel(played);
  const before = recorded ?? tape;
  const model = isNamedNow || before === undefined ? loaded.config.model : modelName(before.provider, before.model);
  const wire = endpoint.wire ?? tape?.wire;
  return { ...endpoint, ...(wire && { wire }), ...(model !== undefined && { model }) };
}

function modelName(provider: string, model: string): string {
  return provider === demoProvider.name ? provider : `${provider}/${model}`;
}

async function resolve(
  settings: Settings,
  recorded: SessionInfo | undefined,
  played: Cassette | undefined,
): Promise<Resolved> {
  const { config } = settings.loaded;
  const wanted = wantedBy(settings, recorded, played);
  try {
    return await resolveModel(wanted, { config, env: settings.env, offline: played !== undefined });
  } catch (error) {
    // The name came from the record, so it is not the command line that is wrong.
    if (recorded === undefined || !(error instanceof KodaError) || error.code !== "usage") throw error;
    const { id, provider, model } = recorded;
    const way =
      provider === "custom"
        ? "give its --base-url again, or another model with -m"
        : `configure the provider "${provider}", or give another model with -m`;
    throw new KodaError(
      "config",
      `Session "${id}" was recorded with ${provider}/${model}, which is not known here: ${way}`,
    );
  }
}

type Line = { resolved: Resolved; played: Cassette | undefined; tell: (notice: Notice) => void };

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
  refuseOldDemo(cwd);
  return { fetch: replayFrom(demoCassette(), { cwd, loose: true }), isTape: true };
}

function recordingOf({ version, root: cwd, env }: Settings, { provider, info, key }: Resolved, fetch: Fetch) {
  const own = [key?.value, ...provider.keys.map((name) => env[name])].filter((value) => value !== undefined);
  return { version, provider: provider.name, model: info.name, cwd, secrets: [...own, ...secretsIn(env)], fetch };
}
