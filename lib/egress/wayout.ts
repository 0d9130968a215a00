import type { Upstream } from "./route/upstream.ts";
import type { Resolver } from "./rules/resolve.ts";
import type { EgressRules } from "./rules/rules.ts";

/** What became of one wish to reach somebody. `refused` is what the rules say, `failed` what the world does. */
export type EgressRequest = {
  via: "http" | "socks" | "fetch";
  host: string;
  port: number;
  /** The number of the caller whose command asked, where the connection says so. */
  caller?: number;
} & ({ verdict: "allowed" } | { verdict: "refused" | "failed"; reason: string });

/** What may be reached, by which way, and who hears of it. */
export type WayOut = {
  readonly rules: EgressRules;
  /** The system's where there is none. */
  readonly resolver: Resolver | undefined;
  readonly upstream: Upstream | undefined;
  readonly onRequest: (request: EgressRequest) => void;
};
