import { editDialects, mcpExposures, modes, networks, wires } from "./config.ts";
import { hookList } from "./hooklist.ts";
import * as t from "./types.ts";

type ConfigKey<T = unknown> = {
  readonly type: t.ConfigType<T>;
  /** A sentence for docs/configuration.md. */
  readonly about: string;
  /** The raw default; keys below `*` have none. */
  readonly default?: unknown;
  /**
   * When a project file may set it. Absent: to narrow it. `trusted`: only then, even to narrow it, since the project
   * would choose who gets the user's code and money. `never`: it would be a program that runs outside the sandbox, or
   * an approval.
   */
  readonly ofProject?: "trusted" | "never";
};

const row = <T>(type: t.ConfigType<T>, value: unknown, about: string) => ({ type, default: value, about }) as const;
const ofUser = <T>(type: t.ConfigType<T>, about: string) => ({ type, about, ofProject: "trusted" }) as const;
const price = "in US dollars per million tokens";

/** All keys; `*` is a name that the user chooses. Files, `--config` and flags are checked against this table. */
export const keys = {
  model: {
    ...ofUser(t.nullable(t.nonEmptyString), "The model to use, as `PROVIDER/MODEL`; also `-m` and `KODA_MODEL`."),
    default: null,
  },
  mode: row(t.choiceOf(modes), "auto", "The calls that may run without approval; also `--mode`."),

  "providers.*.base_url": ofUser(t.httpUrl, "The URL of the API; a query in it is sent with each request."),
  "providers.*.api_key_env": ofUser(t.variableName, "The environment variable with the key; also `--api-key-env`."),
  "providers.*.api_key_command": {
    ...ofUser(t.argumentVector, "The program that prints the key, run without a shell; never of a project."),
    ofProject: "never",
  },
  "providers.*.headers.*": ofUser(t.headerValue, "A header for each request; `${VAR}` is replaced by that variable."),
  "providers.*.wire": ofUser(
    t.choiceOf(wires),
    "The protocol: Chat Completions, Responses or Messages; also `--wire`.",
  ),
  "providers.*.models.*.context_window": ofUser(t.positiveInteger, "The size of the context window, in tokens."),
  "providers.*.models.*.max_output": ofUser(t.positiveInteger, "The longest reply of the model, in tokens."),
  "providers.*.models.*.images": ofUser(t.trueOrFalse, "Whether the model accepts images."),
  "providers.*.models.*.edit": ofUser(t.choiceOf(editDialects), "How the model edits files; also `--edit`."),
  "providers.*.models.*.price.input": ofUser(t.nonNegativeNumber, `The price of input, ${price}.`),
  "providers.*.models.*.price.cached": ofUser(t.nonNegativeNumber, `The price of cached input, ${price}.`),
  "providers.*.models.*.price.written": ofUser(
    t.nonNegativeNumber,
    `The price of input that is written to the cache, ${price}.`,
  ),
  "providers.*.models.*.price.output": ofUser(t.nonNegativeNumber, `The price of output, ${price}.`),

  "model_defaults.context_window": row(
    t.positiveInteger,
    128_000,
    "The context window of a model that neither the configuration nor the catalog describes.",
  ),
  "model_defaults.stream_idle": row(
    t.timeLimit,
    "300s",
    "The longest that a provider may be silent before the request is retried.",
  ),

  "limits.max_turns": row(t.positiveInteger, 200, "The most model requests of a run; also `--max-turns`."),
  "limits.max_tokens": row(
    t.nullable(t.positiveInteger),
    null,
    "The most input and output tokens of a run; also `--max-tokens`.",
  ),
  "limits.max_cost": row(
    t.nullable(t.positiveNumber),
    null,
    "The most that a run may cost, in US dollars; also `--max-cost`.",
  ),
  "limits.timeout": row(t.nullable(t.timeLimit), null, "The longest that a run may take; also `--timeout`."),
  "limits.idle_timeout": row(
    t.nullable(t.timeLimit),
    null,
    "The longest time without output from the model or a tool; also `--idle-timeout`.",
  ),
  "limits.max_command_time": row(
    t.timeLimit,
    "300s",
    "The longest that a command may take; also `--max-command-time`.",
  ),

  "compaction.auto": row(
    t.trueOrFalse,
    true,
    "Whether a conversation that nearly fills the context window is summarized and goes on.",
  ),
  "compaction.at": row(
    t.share,
    0.85,
    "The share of the context window that a conversation may fill before that; at most 0.85.",
  ),

  "sandbox.write": row(t.stringList, [], "More writable directories; also `--allow-write`."),
  "sandbox.read": row(t.stringList, [], "Hidden paths to make readable, such as `~/.npmrc`; also `--allow-read`."),
  "sandbox.hide": row(t.denyList, [], "More paths to hide; also `--deny-read`."),
  "sandbox.allow_git": row(t.trueOrFalse, false, "Whether commands may commit; also `--allow-git`."),
  "sandbox.allow_config": row(
    t.trueOrFalse,
    false,
    "Whether files that tell other tools what to run may be changed; also `--allow-config`.",
  ),
  "sandbox.pass_env": row(t.variableNames, [], "More environment variables for commands; also `--allow-env`."),

  "approvals.commands": {
    ...row(t.stringList, [], "Commands that run without approval in mode safe, by their first words: `npm test`."),
    ofProject: "never",
  },

  "mcp.expose": {
    ...ofUser(
      t.choiceOf(mcpExposures),
      "Whether each tool of the MCP servers is offered (`tools`), or one that lists them and one that calls them (`list`).",
    ),
    default: "tools",
  },
  "mcp.servers.*.command": ofUser(
    t.nonEmptyString,
    "The program of the server, which runs in the sandbox: [mcp.md](mcp.md).",
  ),
  "mcp.servers.*.args": ofUser(t.texts, "The arguments of the program."),
  "mcp.servers.*.env.*": ofUser(t.secretText, "A variable of the program; `${VAR}` is replaced by that variable."),
  "mcp.servers.*.cwd": ofUser(t.nonEmptyString, "The directory that the program starts in; the project when absent."),
  "mcp.servers.*.url": ofUser(t.serverUrl, "The URL of a server that speaks streamable HTTP."),
  "mcp.servers.*.headers.*": ofUser(t.headerValue, "A header for each request; `${VAR}` is replaced by that variable."),
  "mcp.servers.*.headers_command": {
    ...ofUser(
      t.argumentVector,
      "The program that prints headers as a JSON object, run without a shell; run again after a 401; never of a project.",
    ),
    ofProject: "never",
  },
  "mcp.servers.*.required": ofUser(t.trueOrFalse, "Whether a run fails when the server does not start; false."),
  "mcp.servers.*.enabled": ofUser(t.trueOrFalse, "Whether the server is used; true."),
  "mcp.servers.*.enabled_tools": ofUser(
    t.stringList,
    "The only tools that are offered; to name one that may destroy data allows it in mode auto.",
  ),
  "mcp.servers.*.disabled_tools": ofUser(t.stringList, "Tools that are not offered."),
  "mcp.servers.*.start_timeout": ofUser(t.timeLimit, "The longest that the server may take to start; 30s."),
  "mcp.servers.*.call_timeout": ofUser(t.timeLimit, "The longest that a call may take; 120s."),

  "egress.mode": row(t.choiceOf(networks), "allowlist", "The hosts that commands may reach; also `--net`."),
  "egress.allow": row(t.stringList, [], "More hosts that commands may reach; also `--allow-net`."),
  "egress.deny": row(t.denyList, [], "Hosts that commands may never reach; also `--deny-net`."),

  hooks: { ...ofUser(hookList, "Commands that koda runs at certain moments: [hooks.md](hooks.md)."), default: [] },
} as const satisfies Readonly<Record<string, ConfigKey>>;

export type KeyName = keyof typeof keys;
/** A key without a name of the user's in it: flags can set only these. */
export type PlainKeyName = Exclude<KeyName, `${string}*${string}`>;

/** The type of each key's value. */
export type Values = { readonly [K in KeyName]: (typeof keys)[K] extends ConfigKey<infer T> ? T : never };
export const typedKeys: { readonly [K in KeyName]: ConfigKey<Values[K]> } = keys;
