import type { Flows, Limits } from "./flows.ts";
import type { Resolver } from "./resolve.ts";
import type { Rules } from "./rules.ts";
import type { Upstream } from "./upstream.ts";

/** What became of one wish to reach somebody. `refused` is what the rules say, `failed` what the world does. */
export type EgressRequest = {
  via: "http" | "socks";
  host: string;
  port: number;
} & ({ verdict: "allowed" } | { verdict: "refused" | "failed"; reason: string });

/** What all connections of a session have in common. */
export type Gateway = {
  readonly rules: Rules;
  readonly resolver: Resolver | undefined;
  readonly upstream: Upstream | undefined;
  readonly limits: Limits;
  readonly flows: Flows;
  readonly onRequest: (request: EgressRequest) => void;
};
