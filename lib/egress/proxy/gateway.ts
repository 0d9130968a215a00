import type { WayOut } from "../wayout.ts";
import type { Flows, ProxyLimits } from "./flows.ts";

/** What all connections of a session's proxies have in common. */
export type Gateway = WayOut & {
  readonly limits: ProxyLimits;
  readonly flows: Flows;
};
