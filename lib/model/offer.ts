import { type Fetch, platformFetch } from "./fetch.ts";
import { arrayIn, recordOf, stringIn } from "../config/json.ts";
import { addressOf } from "./address.ts";
import type { Provider } from "./providers.ts";

/** A provider that answered, with the models it has. */
export type Offer = { provider: Provider; models: string[] };

/** Which of the servers that people run on their own machine answer. Nobody waits for one that does not. */
export async function localOffers(rows: readonly Provider[], fetch: Fetch = platformFetch): Promise<Offer[]> {
  const local = rows.filter((provider) => provider.local);
  const offers = await Promise.all(local.map((provider) => offerOf(provider, { fetch, timeoutMs: 500 })));
  return offers.filter((offer) => offer !== undefined);
}

/** What GET /models says, or undefined when nothing useful came in time. */
export async function offerOf(
  provider: Provider,
  { key, fetch = platformFetch, timeoutMs }: { key?: string; fetch?: Fetch; timeoutMs: number },
): Promise<Offer | undefined> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (key !== undefined) headers.authorization = `Bearer ${key}`;
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(addressOf(provider, "/models"), { method: "GET", headers, signal });
    if (!response.ok) return undefined;
    return { provider, models: modelNames(await response.json()) };
  } catch {
    // Nobody listens, or something else does: either way there is no provider here.
    return undefined;
  }
}

function modelNames(body: unknown): string[] {
  const names = arrayIn(recordOf(body), "data").map((model) => stringIn(recordOf(model), "id"));
  return names.filter((name) => name !== undefined);
}
