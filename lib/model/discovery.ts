import { parseJson } from "../config/json.ts";
import { isLoopback } from "../egress/rules/host.ts";
import { requestUrl } from "./address.ts";
import { type Fetch, platformFetch } from "./fetch.ts";
import { modelsIn } from "./listed.ts";
import type { Provider } from "./providers.ts";

/** The local providers whose server answers, with their models. */
export async function runningProviders(
  rows: readonly Provider[],
  fetch: Fetch = platformFetch,
): Promise<{ provider: Provider; models: string[] }[]> {
  const local = rows.filter((provider) => provider.local);
  const found = await Promise.all(
    local.map(async (provider) => ({ provider, models: await listModels(provider, fetch) })),
  );
  return found.flatMap(({ provider, models }) => (models === undefined ? [] : [{ provider, models }]));
}

/** A local server answers at once or is not running. */
const answerMs = 500;

/** The models of a server that needs no key; undefined when no model server answers there. */
export async function listModels(provider: Provider, fetch: Fetch = platformFetch): Promise<string[] | undefined> {
  try {
    const signal = AbortSignal.timeout(answerMs);
    const headers = { accept: "application/json" };
    const response = await fetch(requestUrl(provider, "/models"), { method: "GET", headers, signal });
    return response.ok ? modelsIn(parseJson(await response.text())).map(({ name }) => name) : undefined;
  } catch {
    // Nothing listens, or it is no model server.
    return undefined;
  }
}

/** True for a provider on this machine, which may be asked for its models without telling anyone else. */
export function isOnThisMachine({ baseUrl }: Pick<Provider, "baseUrl">): boolean {
  return isLoopback(URL.parse(baseUrl)?.hostname ?? "");
}
