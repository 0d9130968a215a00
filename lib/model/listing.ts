import { parseJson } from "../config/json.ts";
import { formatDuration } from "../config/units.ts";
import { KodaError } from "../errors.ts";
import { endpointOf, requestUrl } from "./address.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import { parseErrorBody } from "./errorbody.ts";
import { connectionError, responseError } from "./failure.ts";
import { protocolHeaders } from "./headers.ts";
import { type ListedModel, modelsIn } from "./listed.ts";
import { localWindow } from "./localwindow.ts";
import type { Provider } from "./providers.ts";

/** Asks a provider for its models; undefined when it has no list. Throws a KodaError like any other request. */
export async function askForModels(endpoint: ModelEndpoint, signal: AbortSignal): Promise<ListedModel[] | undefined> {
  const { provider, info } = endpoint;
  if (provider.listing === "none") return undefined;
  const models = await requestModels(endpoint, signal);
  const describing = models?.map(async (model) => {
    const window = model.contextWindow ?? (await localWindow(provider, model.name, { usual: info.contextWindow }));
    return window === undefined ? model : { ...model, contextWindow: window };
  });
  return describing && (await Promise.all(describing));
}

async function requestModels(endpoint: ModelEndpoint, signal: AbortSignal): Promise<ListedModel[] | undefined> {
  const { provider, fetch, userAgent } = endpoint;
  const path = provider.listing?.startsWith("/") ? provider.listing : "/models";
  const limit = AbortSignal.timeout(endpoint.streamIdleMs);
  const init = {
    method: "GET" as const,
    headers: {
      accept: "application/json",
      "user-agent": userAgent,
      ...protocolHeaders(provider.wire, endpoint),
      ...endpoint.headers?.values,
    },
    signal: AbortSignal.any([signal, limit]),
  };
  try {
    const response = await fetch(requestUrl(provider, path), init);
    const text = await response.text();
    if (response.status === 404 || response.status === 405) return undefined;
    if (response.ok) return listIn(text, provider);
    throw responseError(
      { status: response.status, headers: new Map(response.headers) },
      parseErrorBody(text),
      endpoint,
    );
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) throw silence(endpoint);
    throw error instanceof KodaError ? error : connectionError(error, endpoint, { started: false });
  }
}

function listIn(text: string, provider: Provider): ListedModel[] {
  const body = parseJson(text);
  if (body !== undefined) return modelsIn(body);
  const message = `${provider.name} sent no list of models from ${endpointOf(provider)}: check the base URL`;
  throw new KodaError("request", message);
}

function silence({ provider, streamIdleMs }: ModelEndpoint): KodaError {
  const message = `${provider.name} sent nothing for ${formatDuration(streamIdleMs)} from ${endpointOf(provider)}`;
  return new KodaError("silence", message, { retryable: true });
}
