import { connectModel } from "../../lib/model/connect.ts";
import type { Wire } from "../../lib/config/config.ts";
import type { Model, ModelEvent, ModelInfo, ModelRequest, ModelSettings } from "../../lib/model/model.ts";
import type { Quirks } from "../../lib/model/providers.ts";
import type { RetryPolicy } from "../../lib/model/retry.ts";
import type { Fetch } from "../../lib/model/fetch.ts";

export type ConnectionOptions = {
  key?: string;
  quirks?: Quirks;
  settings?: ModelSettings;
  info?: Partial<ModelInfo>;
  streamIdleMs?: number;
  retry?: Partial<RetryPolicy>;
  fetch?: Fetch;
};

/** The real model layer, pointed at a test's server. It does not retry, or not slowly, unless a test says so. */
export function connectTo(baseUrl: string, wire: Wire, options: ConnectionOptions = {}): Model {
  const { key, quirks, settings = {}, streamIdleMs = 10_000, fetch } = options;
  const info = { provider: "test", name: "scripted", wire, contextWindow: 128_000, images: true, ...options.info };
  return connectModel({
    provider: { name: "test", baseUrl, keys: ["TEST_KEY"], wire, ...(quirks && { quirks }) },
    info,
    settings,
    streamIdleMs,
    userAgent: "koda/test",
    ...(key !== undefined && { key: { value: key, variable: "TEST_KEY" } }),
    ...(fetch && { fetch }),
    retry: { max: 0, waitLimitMs: 0, random: () => 0.5, wait: async () => {}, ...options.retry },
  });
}

export const hello: ModelRequest = {
  system: "You are a test.",
  messages: [{ role: "user", parts: [{ type: "text", text: "hello" }] }],
  tools: [],
};

/** All events of one request. */
export async function converse(
  model: Model,
  request: ModelRequest = hello,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  return Array.fromAsync(eventsOf(model(request, signal)));
}

/** One by one, for tests that do something in between. */
export async function* eventsOf(batches: AsyncIterable<readonly ModelEvent[]>): AsyncGenerator<ModelEvent, void> {
  for await (const events of batches) yield* events;
}
