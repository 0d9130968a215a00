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
  /** A sentence for docs/configuration.md. */
  readonly about: string;
  /** As it would be written; a key below `*` has none. */
  readonly standard?: unknown;
  /** A project file has no say in it, not even to narrow: it would choose whom the user's code and money go to. */
  readonly usersOnly?: true;
};

const ofUser = <T>(kind: Kind<T>, about: string) => ({ kind, about, usersOnly: true }) as const;
const price = "in US dollars per million tokens";

/** Every key there is; `*` stands for a name that the user gives. Files, `--config` and flags are checked against it. */
export const keys = {
  model: {
    ...ofUser(optional(text), "The model to use, as `PROVIDER/MODEL`; also `-m` and `KODA_MODEL`."),
    standard: null,
  },
  mode: {
    kind: oneOf(modes),
    standard: "auto",
    about: "The calls that run without a human; also `--mode`.",
  },

  "providers.*.base_url": ofUser(address, "The address of the API; a query in it is sent with each request."),
  "providers.*.api_key_env": ofUser(variable, "The environment variable that holds the key; also `--api-key-env`."),
  "providers.*.api_key_command": ofUser(command, "The program that prints the key, started without a shell."),
  "providers.*.headers.*": ofUser(header, "A header to send with each request; `${VAR}` is replaced by that variable."),
  "providers.*.wire": ofUser(oneOf(wires), "The protocol: Chat Completions or Responses; also `--wire`."),
  "providers.*.models.*.context_window": ofUser(count, "The size of the model's context window, in tokens."),
  "providers.*.models.*.max_output": ofUser(count, "The longest reply that the model gives, in tokens."),
  "providers.*.models.*.images": ofUser(yesNo, "Whether the model takes images."),
  "providers.*.models.*.price.input": ofUser(amount, `The price of input, ${price}.`),
  "providers.*.models.*.price.cached": ofUser(amount, `The price of input that the provider has cached, ${price}.`),
  "providers.*.models.*.price.output": ofUser(amount, `The price of output, ${price}.`),

  "model_defaults.context_window": {
    kind: count,
    standard: 128_000,
    about: "The context window of a model that neither the configuration nor the catalog describes.",
  },
  "model_defaults.stream_idle": {
    kind: timeout,
    standard: "300s",
    about: "The longest that a provider may be silent before the request is retried.",
  },

  "limits.max_turns": { kind: count, standard: 200, about: "The most model requests of a run; also `--max-turns`." },
  "limits.max_tokens": {
    kind: optional(count),
    standard: null,
    about: "The most input and output tokens of a run; also `--max-tokens`.",
  },
  "limits.timeout": {
    kind: optional(timeout),
    standard: null,
    about: "The longest that a run may take; also `--timeout`.",
  },
  "limits.idle_timeout": {
    kind: optional(timeout),
    standard: null,
    about: "The longest without output from the model or a tool; also `--idle-timeout`.",
  },
  "limits.max_command_time": {
    kind: timeout,
    standard: "300s",
    about: "The longest that a command may take; also `--max-command-time`.",
  },

  "sandbox.write": { kind: texts, standard: [], about: "More directories to write to; also `--allow-write`." },
  "sandbox.read": {
    kind: texts,
    standard: [],
    about: "Hidden paths to open, such as `~/.npmrc`; also `--allow-read`.",
  },
  "sandbox.hide": { kind: denials, standard: [], about: "More paths to hide; also `--deny-read`." },
  "sandbox.allow_git": { kind: yesNo, standard: false, about: "Whether commands may commit; also `--allow-git`." },
  "sandbox.pass_env": {
    kind: variables,
    standard: [],
    about: "More environment variables for commands; also `--allow-env`.",
  },

  "egress.mode": {
    kind: oneOf(networks),
    standard: "allowlist",
    about: "The hosts that commands reach; also `--net`.",
  },
  "egress.allow": { kind: texts, standard: [], about: "More hosts that commands may reach; also `--allow-net`." },
  "egress.deny": { kind: denials, standard: [], about: "Hosts that commands may never reach; also `--deny-net`." },
} as const satisfies Readonly<Record<string, Key>>;

export type KeyName = keyof typeof keys;
/** A key without a name of the user's in it: what a flag can set. */
export type PlainKeyName = Exclude<KeyName, `${string}*${string}`>;

/** What is read of each key. */
export type Values = { readonly [K in KeyName]: (typeof keys)[K] extends Key<infer T> ? T : never };
export const typedKeys: { readonly [K in KeyName]: Key<Values[K]> } = keys;
