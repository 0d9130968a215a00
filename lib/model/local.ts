import type { Provider } from "./providers.ts";

/** Whether a provider runs here, so that it can be asked for without anybody else hearing of it. */
export function isOnThisMachine({ baseUrl }: Pick<Provider, "baseUrl">): boolean {
  return isLoopback(URL.parse(baseUrl)?.hostname ?? "");
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host === "::1" || host.startsWith("127.");
}
