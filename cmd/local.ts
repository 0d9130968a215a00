import type { Provider } from "../lib/model/providers.ts";

/** Whether a provider runs here, so that it can be asked for without anybody else hearing of it. */
export function isOnThisMachine({ baseUrl }: Provider): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? "";
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
}
