import type { WayOut } from "../wayout.ts";
import type { Flows, Limits } from "./flows.ts";

/** What all connections of a session's proxies have in common. */
export type Gateway = WayOut & {
  readonly limits: Limits;
  readonly flows: Flows;
};
