import type { Env } from "../config/paths.ts";
import { proxyOfFetch } from "../egress/route/upstream.ts";
import { errnoOf } from "../errors.ts";
import { isBeingSetUp } from "../system/handshake.ts";
import { type Fetch, platformFetch } from "./fetch.ts";

/**
 * The network, with the way to a provider opened before there is anything to send: its name is looked up, and TCP and
 * TLS are set up where Bun can do that. The first request then finds the connection in Bun's pool.
 *
 * Nothing is opened past a proxy of the user's own, or for plain HTTP, which is for servers nearby.
 */
export function openEarly(baseUrl: string, env: Env, { staleMs = 60_000 } = {}): Fetch {
  const url = URL.parse(baseUrl);
  if (url?.protocol !== "https:" || proxyOfFetch(url, env) !== undefined) return platformFetch;
  const openedAt = performance.now();
  const port = Number(url.port);
  // Bun 1.4.4 refuses to connect early to the usual port: there the look-up has to do.
  if (port > 0) fetch.preconnect(url.origin);
  else Bun.dns.prefetch(url.hostname, 443);

  let send: Fetch | undefined;
  return async (address, init) => {
    if (send !== undefined) return await send(address, init);
    send = performance.now() - openedAt < staleMs ? platformFetch : inNewPool();
    if (port > 0) await connected(port, init.signal);
    try {
      return await send(address, init);
    } catch (error) {
      // The server may just have closed what was opened early, and Bun remembers a failed look-up for one request.
      const isDueToOpening = port > 0 || errnoOf(error) === "ENOTFOUND";
      if (init.signal.aborted || !isDueToOpening) throw error;
      return await send(address, init);
    }
  };
}

/** Waits for a connection that is on its way: Bun would open a second one, which could not be faster. */
async function connected(port: number, signal: AbortSignal): Promise<void> {
  const patience = performance.now() + mostWaitMs;
  while (!signal.aborted && performance.now() < patience && isBeingSetUp(port)) await Bun.sleep(1);
}

/** When a packet was lost, another connection is faster. */
const mostWaitMs = 500;

/** A router may have forgotten a connection that was idle for long; a request on it would get no answer. */
function inNewPool(): Fetch {
  const session = new Bun.FetchSession();
  return (address, init) => platformFetch(address, { ...init, session });
}
