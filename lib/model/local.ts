import { isLoopback } from "../egress/rules/host.ts";
import type { Provider } from "./providers.ts";

/** True for a provider on this machine: looking for it tells no one else. */
export function isOnThisMachine({ baseUrl }: Pick<Provider, "baseUrl">): boolean {
  return isLoopback(URL.parse(baseUrl)?.hostname ?? "");
}
