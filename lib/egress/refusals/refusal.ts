/** Somebody wanted to reach a host that the rules refuse. */
export type EgressRefusal = {
  /** When, as in an event. */
  at: string;
  via: "http" | "socks" | "fetch" | "connect";
  host: string;
  port: number;
  /** A sentence for people, with the flag that would allow it where there is one. */
  reason: string;
  /** The id of the call that wanted it, where that is known. */
  tool?: string;
};

/** So many are remembered, here and in the data directory: enough to see what a run lacked. */
export const mostRefusals = 200;
