import type { Upstream } from "./route/upstream.ts";
import type { Resolver } from "./rules/resolve.ts";
import type { EgressRules } from "./rules/rules.ts";

/** An attempt to reach a host and its outcome: `refused` by the rules, or `failed` on the way. */
export type EgressRequest = {
  via: "http" | "socks" | "fetch";
  host: string;
  port: number;
  /** The number of the caller whose command asked, where the connection says so. */
  caller?: number;
} & ({ verdict: "allowed" } | { verdict: "refused" | "failed"; reason: string });

/** The hosts that may be reached, the way to them, and the listener for every attempt. */
export type WayOut = {
  readonly rules: EgressRules;
  /** The system's when absent. */
  readonly resolver?: Resolver | undefined;
  readonly upstream?: Upstream | undefined;
  readonly onRequest: (request: EgressRequest) => void;
};
