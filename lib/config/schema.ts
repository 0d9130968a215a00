import { modes, networks, wires } from "./config.ts";
import {
  address,
  amount,
  command,
  count,
  denials,
  header,
  oneOf,
  optional,
  text,
  texts,
  timeout,
  variable,
  variables,
  yesNo,
  type Kind,
} from "./kinds.ts";

export type Key<T = unknown> = {
  readonly kind: Kind<T>;
  /** As it would be written; a key below `*` has none. */
  readonly standard?: unknown;
  /** A project file has no say in it, not even to narrow: it would choose whom the user's code and money go to. */
  readonly usersOnly?: true;
};

const ofUser = <T>(kind: Kind<T>) => ({ kind, usersOnly: true }) as const;

/** Every key there is; `*` stands for a name that the user gives. Files, `--config` and flags are checked against it. */
export const keys = {
  model: { ...ofUser(optional(text)), standard: null },
  mode: { kind: oneOf(modes), standard: "auto" },

  "providers.*.base_url": ofUser(address),
  "providers.*.api_key_env": ofUser(variable),
  "providers.*.api_key_command": ofUser(command),
  "providers.*.headers.*": ofUser(header),
  "providers.*.wire": ofUser(oneOf(wires)),
  "providers.*.models.*.context_window": ofUser(count),
  "providers.*.models.*.max_output": ofUser(count),
  "providers.*.models.*.images": ofUser(yesNo),
  "providers.*.models.*.price.input": ofUser(amount),
  "providers.*.models.*.price.cached": ofUser(amount),
  "providers.*.models.*.price.output": ofUser(amount),

  "model_defaults.context_window": { kind: count, standard: 128_000 },
  "model_defaults.stream_idle": { kind: timeout, standard: "300s" },

  "limits.max_turns": { kind: count, standard: 200 },
  "limits.max_tokens": { kind: optional(count), standard: null },
  "limits.timeout": { kind: optional(timeout), standard: null },
  "limits.idle_timeout": { kind: optional(timeout), standard: null },
  "limits.max_command_time": { kind: timeout, standard: "300s" },

  "sandbox.write": { kind: texts, standard: [] },
  "sandbox.read": { kind: texts, standard: [] },
  "sandbox.hide": { kind: denials, standard: [] },
  "sandbox.allow_git": { kind: yesNo, standard: false },
  "sandbox.pass_env": { kind: variables, standard: [] },

  "egress.mode": { kind: oneOf(networks), standard: "allowlist" },
  "egress.allow": { kind: texts, standard: [] },
  "egress.deny": { kind: denials, standard: [] },
} as const satisfies Readonly<Record<string, Key>>;

export type KeyName = keyof typeof keys;
/** A key without a name of the user's in it: what a flag can set. */
export type PlainKeyName = Exclude<KeyName, `${string}*${string}`>;

/** What is read of each key. */
export type Values = { readonly [K in KeyName]: (typeof keys)[K] extends Key<infer T> ? T : never };
export const typedKeys: { readonly [K in KeyName]: Key<Values[K]> } = keys;
