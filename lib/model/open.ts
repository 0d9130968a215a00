import type { Config } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import type { Cassette } from "./cassette.ts";
import { connect } from "./connect.ts";
import { type Fetch, platformFetch } from "./fetch.ts";
import type { Model, ModelInfo, ModelSettings } from "./model.ts";
import { demoProvider, type Environment } from "./providers.ts";
import { type Resolved, resolveModel, type Wanted } from "./resolve.ts";
import { instantRetry, standardRetry } from "./retry.ts";
import { fitting } from "./settings.ts";

export type ModelOptions = {
  wanted: Wanted;
  settings: ModelSettings;
  config: Pick<Config, "providers" | "modelDefaults">;
  env: Environment;
  cwd: string;
  version: string;
  /** Absolute paths of cassettes. */
  record?: string | undefined;
  replay?: string | undefined;
  replayLoose?: boolean;
  /** Told what the user should know and what stops nothing: a setting that is not sent, a replay that differs. */
  notice: (code: "setting" | "replay", message: string) => void;
};

export type OpenModel = {
  model: Model;
  info: ModelInfo;
  /** To be called when the run is over; throws when `record` could not be written. */
  close: () => void;
};

/** From what the user asked for to a model that can be asked. Whatever the user can set right is thrown here already. */
export async function openModel(options: ModelOptions): Promise<OpenModel> {
  const { wanted, config, env, version, notice } = options;
  const cassette = await cassetteOf(options);
  const resolved = await resolveModel(wanted, { config, env, replayed: await modelOf(cassette) });
  const { settings, left } = fitting(options.settings, resolved.info);
  for (const message of left) notice("setting", message);

  const scripted = cassette !== undefined || resolved.provider === demoProvider;
  const { fetch, close } = await recording(await fetchFor(resolved, cassette, options), resolved, options);
  const model = connect({
    ...resolved,
    settings,
    fetch,
    streamIdleMs: config.modelDefaults.streamIdleMs,
    userAgent: `koda/${version}`,
    retry: scripted ? instantRetry : standardRetry,
  });
  return { model, info: resolved.info, close };
}

async function cassetteOf({ record, replay }: ModelOptions): Promise<Cassette | undefined> {
  if (replay === undefined) return undefined;
  if (replay === record) throw new KodaError("usage", `--record and --replay cannot be the same file: "${replay}"`);
  const { readCassette } = await import("./cassette.ts");
  return readCassette(replay);
}

async function modelOf(cassette: Cassette | undefined) {
  return cassette && (await import("./cassette.ts")).recordedModel(cassette);
}

async function fetchFor({ provider }: Resolved, cassette: Cassette | undefined, options: ModelOptions): Promise<Fetch> {
  const { cwd, replayLoose = false, notice } = options;
  if (cassette !== undefined) {
    const { replayFrom } = await import("./replay.ts");
    return replayFrom(cassette, { cwd, loose: replayLoose, onDivergence: (message) => notice("replay", message) });
  }
  if (provider !== demoProvider) return platformFetch;
  return (await import("./demo.ts")).demoFetch(cwd);
}

type Recording = { fetch: Fetch; close: () => void };

async function recording(fetch: Fetch, { info, key }: Resolved, options: ModelOptions): Promise<Recording> {
  const { record, version, cwd, env } = options;
  if (record === undefined) return { fetch, close: () => {} };
  const { recordTo, secretsIn } = await import("./record.ts");
  const secrets = [...(key ? [key.value] : []), ...secretsIn(env)];
  return recordTo(record, { version, provider: info.provider, model: info.name, cwd, secrets, fetch });
}
