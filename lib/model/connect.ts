import type { Wire } from "../config/config.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import { platformFetch } from "./fetch.ts";
import type { Model } from "./model.ts";
import { withRetries, type RetryPolicy } from "./retry.ts";

type ConnectOptions = Omit<ModelEndpoint, "fetch"> & Partial<Pick<ModelEndpoint, "fetch">> & { retry?: RetryPolicy };

/** The model at an endpoint, with retries. The wire is loaded by the first request. */
export function connectModel({ retry, ...options }: ConnectOptions): Model {
  const endpoint: ModelEndpoint = { fetch: platformFetch, ...options };
  let wire: Promise<Model> | undefined;
  return withRetries(() => (wire ??= wires[endpoint.info.wire](endpoint)), retry);
}

const wires: Record<Wire, (endpoint: ModelEndpoint) => Promise<Model>> = {
  chat: async (endpoint) => (await import("./chat.ts")).chatModel(endpoint),
  responses: async (endpoint) => (await import("./responses.ts")).responsesModel(endpoint),
  messages: async (endpoint) => (await import("./messages.ts")).messagesModel(endpoint),
};
