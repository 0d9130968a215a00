/** The worst that a call can do. The order is the order of trust that it needs. */
export const effects = ["read", "write", "remote", "destructive"] as const;
export type Effect = (typeof effects)[number];

/** A call's announcement of what it will do: the gate judges it, and the dispatcher schedules by it. */
export type Claim = {
  effect: Effect;
  /** Absolute paths it writes; "unknown" when that cannot be told, so it must run alone. */
  writes: readonly string[] | "unknown";
  /** Why the call reaches past the writable roots, in words for the user and the model; absent when it does not. */
  outside?: string;
  /** The rule that made it destructive (`git push --force`), in words; absent when it is not. */
  reason?: string;
};

/** A call that changes nothing, whatever it reads. */
export const noEffect: Claim = { effect: "read", writes: [] };
