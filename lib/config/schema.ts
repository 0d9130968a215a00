import { modes, networks, wires } from "./config.ts";
import * as type from "./types.ts";
import type { ConfigType } from "./types.ts";

export type ConfigKey<T = unknown> = {
  readonly type: ConfigType<T>;
  /** A sentence for docs/configuration.md. */
  readonly about: string;
  /** The raw default; keys below `*` have none. */
  readonly default?: unknown;
  /** Ignored in a project file, even to narrow it: the project would choose who gets the user's code and money. */
  readonly userOnly?: true;
};

const ofUser = <T>(type: ConfigType<T>, about: string) => ({ type, about, userOnly: true }) as const;
const price = "in US dollars per million tokens";

/** All keys; `*` is a name that the user chooses. Files, `--config` and flags are checked against this table. */
export const keys = {
  model: {
    ...ofUser(type.nullable(type.nonEmptyString), "The model to use, as `PROVIDER/MODEL`; also `-m` and `KODA_MODEL`."),
    default: null,
  },
  mode: {
    type: type.choiceOf(modes),
    default: "auto",
    about: "The calls that may run without approval; also `--mode`.",
  },

  "providers.*.base_url": ofUser(type.httpUrl, "The URL of the API; a query in it is sent with each request."),
  "providers.*.api_key_env": ofUser(
    type.variableName,
    "The environment variable that holds the key; also `--api-key-env`.",
  ),
  "providers.*.api_key_command": ofUser(
    type.programWithArguments,
    "The program that prints the key, run without a shell.",
  ),
  "providers.*.headers.*": ofUser(
    type.headerValue,
    "A header to send with each request; `${VAR}` is replaced by that variable.",
  ),
  "providers.*.wire": ofUser(type.choiceOf(wires), "The protocol: Chat Completions or Responses; also `--wire`."),
  "providers.*.models.*.context_window": ofUser(
    type.positiveInteger,
    "The size of the model's context window, in tokens.",
  ),
  "providers.*.models.*.max_output": ofUser(type.positiveInteger, "The longest reply of the model, in tokens."),
  "providers.*.models.*.images": ofUser(type.trueOrFalse, "Whether the model accepts images."),
  "providers.*.models.*.price.input": ofUser(type.nonNegativeNumber, `The price of input, ${price}.`),
  "providers.*.models.*.price.cached": ofUser(
    type.nonNegativeNumber,
    `The price of input that the provider has cached, ${price}.`,
  ),
  "providers.*.models.*.price.output": ofUser(type.nonNegativeNumber, `The price of output, ${price}.`),

  "model_defaults.context_window": {
    type: type.positiveInteger,
    default: 128_000,
    about: "The context window of a model that neither the configuration nor the catalog describes.",
  },
  "model_defaults.stream_idle": {
    type: type.timeLimit,
    default: "300s",
    about: "The longest that a provider may be silent before the request is retried.",
  },

  "limits.max_turns": {
    type: type.positiveInteger,
    default: 200,
    about: "The most model requests of a run; also `--max-turns`.",
  },
  "limits.max_tokens": {
    type: type.nullable(type.positiveInteger),
    default: null,
    about: "The most input and output tokens of a run; also `--max-tokens`.",
  },
  "limits.timeout": {
    type: type.nullable(type.timeLimit),
    default: null,
    about: "The longest that a run may take; also `--timeout`.",
  },
  "limits.idle_timeout": {
    type: type.nullable(type.timeLimit),
    default: null,
    about: "The longest time without output from the model or a tool; also `--idle-timeout`.",
  },
  "limits.max_command_time": {
    type: type.timeLimit,
    default: "300s",
    about: "The longest that a command may take; also `--max-command-time`.",
  },

  "sandbox.write": { type: type.stringList, default: [], about: "More writable directories; also `--allow-write`." },
  "sandbox.read": {
    type: type.stringList,
    default: [],
    about: "Hidden paths to make readable, such as `~/.npmrc`; also `--allow-read`.",
  },
  "sandbox.hide": { type: type.denyList, default: [], about: "More paths to hide; also `--deny-read`." },
  "sandbox.allow_git": {
    type: type.trueOrFalse,
    default: false,
    about: "Whether commands may commit; also `--allow-git`.",
  },
  "sandbox.pass_env": {
    type: type.variableNames,
    default: [],
    about: "More environment variables for commands; also `--allow-env`.",
  },

  "egress.mode": {
    type: type.choiceOf(networks),
    default: "allowlist",
    about: "The hosts that commands may reach; also `--net`.",
  },
  "egress.allow": {
    type: type.stringList,
    default: [],
    about: "More hosts that commands may reach; also `--allow-net`.",
  },
  "egress.deny": { type: type.denyList, default: [], about: "Hosts that commands may never reach; also `--deny-net`." },
} as const satisfies Readonly<Record<string, ConfigKey>>;

export type KeyName = keyof typeof keys;
/** A key without a name of the user's in it: flags can set only these. */
export type PlainKeyName = Exclude<KeyName, `${string}*${string}`>;

/** The type of each key's value. */
export type Values = { readonly [K in KeyName]: (typeof keys)[K] extends ConfigKey<infer T> ? T : never };
export const typedKeys: { readonly [K in KeyName]: ConfigKey<Values[K]> } = keys;
