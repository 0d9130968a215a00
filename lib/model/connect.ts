import { platformFetch } from "./fetch.ts";
import type { Model, Wire } from "./model.ts";
import type { Attempt } from "./reply.ts";
import { retrying, type RetryPolicy } from "./retry.ts";
import type { Endpoint } from "./stream.ts";

export type Connection = Omit<Endpoint, "fetch"> & Partial<Pick<Endpoint, "fetch">> & { retry?: RetryPolicy };

/** The model at an endpoint, with the one retry policy around it. Nothing heavy is loaded before the first request. */
export function connect({ retry, ...connection }: Connection): Model {
  const endpoint: Endpoint = { fetch: platformFetch, ...connection };
  let wire: Promise<Attempt> | undefined;
  return retrying(() => (wire ??= wires[endpoint.info.wire](endpoint)), retry);
}

const wires: Record<Wire, (endpoint: Endpoint) => Promise<Attempt>> = {
  chat: async (endpoint) => (await import("./chat.ts")).overChat(endpoint),
  responses: async (endpoint) => (await import("./responses.ts")).overResponses(endpoint),
};
