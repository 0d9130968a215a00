/**
 * The configuration as the program uses it: every key has a value, durations are milliseconds, paths are absolute.
 * How it is written in files and on the command line is schema.ts; where a value came from is `LoadedConfig.origins`.
 */
export type Config = {
  /** `provider/model`, or a model of the configured provider. */
  readonly model: string | undefined;
  readonly mode: Mode;
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  /** For a model that nobody describes. */
  readonly modelDefaults: { readonly contextWindow: number; readonly streamIdleMs: number };
  readonly limits: {
    readonly maxTurns: number;
    readonly maxTokens: number | undefined;
    readonly timeoutMs: number | undefined;
    readonly idleTimeoutMs: number | undefined;
    readonly maxCommandTimeMs: number;
  };
  readonly sandbox: {
    /** More writable roots. */
    readonly write: readonly string[];
    /** What may be read though it is hidden by default. */
    readonly read: readonly string[];
    /** What is hidden beside that. */
    readonly hide: readonly string[];
    /** Whether commands may commit. */
    readonly allowGit: boolean;
    /** Names of variables that commands may see. */
    readonly passEnv: readonly string[];
  };
  readonly egress: EgressConfig;
};

/** How far a run is trusted, least first: a project file may only move it towards the front. */
export const modes = ["plan", "safe", "auto"] as const;
export type Mode = (typeof modes)[number];

/** What commands may reach, least first: nothing, the hosts on a list, every public host. */
export const networks = ["none", "allowlist", "open"] as const;
export type Network = (typeof networks)[number];

/** Patterns of hosts as they were written: lib/egress says what they mean, and which of them mean nothing. */
export type EgressConfig = {
  readonly mode: Network;
  /** Beside the hosts of development. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
};

/** The protocols that a provider may speak. */
export const wires = ["chat", "responses"] as const;
export type Wire = (typeof wires)[number];

/** What the user says of a provider; what is absent comes from the built-in table, when it has a row of that name. */
export type ProviderConfig = {
  readonly baseUrl?: string;
  readonly apiKeyEnv?: string;
  /** The program, with its arguments, that prints the key. */
  readonly apiKeyCommand?: readonly string[];
  /** Sent with each request, by their lower-case names; `${VAR}` in a value stands for a variable. */
  readonly headers?: ReadonlyMap<string, string>;
  readonly wire?: Wire;
  readonly models: ReadonlyMap<string, ModelConfig>;
};

export type ModelConfig = {
  readonly contextWindow?: number;
  readonly maxOutput?: number;
  readonly images?: boolean;
  /** USD per million tokens. */
  readonly price?: { readonly input: number; readonly cached?: number; readonly output: number };
};

/** `flag --mode`, `environment KODA_MODEL`, `project .koda/config.json`, `user /home/me/.config/koda/config.json`. */
export type Origin = `${"flag" | "environment" | "project" | "user"} ${string}` | "default";

export type LoadedConfig = {
  readonly config: Config;
  /** By dotted key, for every key that has a value or a default. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** The values as they were written, by dotted key, for people: what may be a key is masked. */
  readonly written: ReadonlyMap<string, unknown>;
  /** What the project file asked for and did not get: `.koda/config.json: providers`. */
  readonly skipped: readonly string[];
};
