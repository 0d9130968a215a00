import { KodaError } from "../errors.ts";
import { type Cassette, readCassette } from "../model/cassette.ts";
import { connect } from "../model/connect.ts";
import { demoCassette, demoProvider, refuseOldDemo } from "../model/demo.ts";
import { type Fetch, platformFetch } from "../model/fetch.ts";
import type { Model, ModelInfo } from "../model/model.ts";
import { recordTo } from "../model/record.ts";
import { replayFrom } from "../model/replay.ts";
import { type Resolved, resolveModel, type Wanted } from "../model/resolve.ts";
import type { SessionInfo } from "../session/log.ts";
import type { Notice } from "./run.ts";
import type { Settings } from "./settings.ts";

/** The model of a run, and the variables that may hold its key: commands never see those. */
export type Connection = {
  model: Model;
  info: ModelInfo;
  keyVariables: readonly string[];
  close(): void;
};

/** Connects to the model that is asked for, over the network or over a cassette. */
export async function connectionFor(
  settings: Settings,
  { recorded, tell }: { recorded: SessionInfo | undefined; tell: (notice: Notice) => void },
): Promise<Connection> {
  const played = settings.cassette.replay === undefined ? undefined : readCassette(settings.cassette.replay);
  const resolved = await resolve(wantedBy(settings, recorded, played), {
    settings,
    recorded,
    offline: played !== undefined,
  });
  const { provider, info, key } = resolved;
  const { fetch, close } = line(settings, { resolved, played, tell });
  const model = connect({
    ...resolved,
    settings: settings.model,
    fetch,
    streamIdleMs: settings.loaded.config.modelDefaults.streamIdleMs,
    userAgent: `koda/${settings.version}`,
  });
  return { model, info, keyVariables: key === undefined ? provider.keys : [...provider.keys, key.variable], close };
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
  const isNamedNow = /^(flag|environment)/.test(origin) || endpoint.baseUrl !== undefined;
  const before = recorded ?? played?.header;
  const remembered =
    before?.provider === undefined || before.model === undefined ? undefined : modelName(before.provider, before.model);
  const model = isNamedNow ? loaded.config.model : (remembered ?? loaded.config.model);
  return { ...endpoint, ...(model !== undefined && { model }) };
}

function modelName(provider: string, model: string): string {
  return provider === demoProvider.name ? provider : `${provider}/${model}`;
}

type Circumstances = { settings: Settings; recorded: SessionInfo | undefined; offline: boolean };

async function resolve(wanted: Wanted, { settings, recorded, offline }: Circumstances): Promise<Resolved> {
  const { config } = settings.loaded;
  try {
    return await resolveModel(wanted, { config, env: settings.env, offline });
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

/** What requests go through: the network, the network and a tape that listens, or a tape alone. */
function line(settings: Settings, { resolved, played, tell }: Line): { fetch: Fetch; close(): void } {
  const { cassette, root: cwd, version, env } = settings;
  const { provider, info, key } = resolved;
  const silent = () => {};
  if (provider.name === demoProvider.name) {
    refuseOldDemo(cwd);
    return { fetch: replayFrom(demoCassette(), { cwd, loose: true }), close: silent };
  }
  if (played !== undefined) {
    const onDivergence = (message: string) => tell({ type: "notice", level: "warn", code: "replay", message });
    return { fetch: replayFrom(played, { cwd, loose: cassette.loose === true, onDivergence }), close: silent };
  }
  if (cassette.record === undefined) return { fetch: platformFetch, close: silent };

  const secrets = [key?.value, ...provider.keys.map((name) => env[name])].filter((value) => value !== undefined);
  return recordTo(cassette.record, { version, provider: provider.name, model: info.name, cwd, secrets });
}
