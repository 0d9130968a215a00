import type { Upstream } from "./route/upstream.ts";
import type { HostPort } from "./rules/host.ts";
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

/** A host that no pattern allows, and who wants to reach it. */
export type HostQuestion = { target: HostPort; caller?: number | undefined };

/** Without a reason it is refused as if the user had not been asked. The reason is one line of ASCII. */
export type HostAnswer = { allow: true } | { allow: false; reason?: string };

/** The hosts that may be reached, the way to them, and the listener for every attempt. */
export type WayOut = {
  readonly rules: EgressRules;
  /** The system's when absent. */
  readonly resolver?: Resolver | undefined;
  readonly upstream?: Upstream | undefined;
  /** Absent where the user cannot be asked. */
  readonly ask?: ((question: HostQuestion) => Promise<HostAnswer>) | undefined;
  readonly onRequest: (request: EgressRequest) => void;
};
