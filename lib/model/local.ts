import { isLoopback } from "../egress/rules/host.ts";
import type { Provider } from "./providers.ts";

/** Whether a provider runs here, so that it can be asked for without anybody else hearing of it. */
export function isOnThisMachine({ baseUrl }: Pick<Provider, "baseUrl">): boolean {
  return isLoopback(URL.parse(baseUrl)?.hostname ?? "");
}
