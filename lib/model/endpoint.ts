import type { Env } from "../config/paths.ts";
import type { Fetch } from "./fetch.ts";
import type { ExtraHeaders } from "./headers.ts";
import type { ModelInfo, ModelSettings } from "./model.ts";
import type { ApiKey } from "./key.ts";
import type { Provider } from "./providers.ts";

/** A model at a provider: everything that a wire needs to send requests to it. */
export type ModelEndpoint = {
  provider: Provider;
  info: ModelInfo;
  key?: ApiKey;
  headers?: ExtraHeaders;
  settings: ModelSettings;
  fetch: Fetch;
  /** The environment in which `fetch` looks for a proxy. */
  env?: Env;
  /** The longest silence of the provider, before its headers and within its stream. */
  streamIdleMs: number;
  userAgent: string;
};
