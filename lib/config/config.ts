import type { ProjectTrust } from "./trust.ts";

/**
 * The configuration as the program uses it: every key has a value, durations are milliseconds, paths are absolute.
 * The keys of the files are in schema.ts; `LoadedConfig.origins` says where each value came from.
 */
export type Config = {
  /** `provider/model`, or a model of the configured provider. */
  readonly model: string | undefined;
  readonly mode: Mode;
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  /** For a model that neither the configuration nor the catalog describes. */
  readonly modelDefaults: { readonly contextWindow: number; readonly streamIdleMs: number };
  readonly limits: {
    readonly maxTurns: number;
    readonly maxTokens: number | undefined;
    readonly maxCostUsd: number | undefined;
    readonly timeoutMs: number | undefined;
    readonly idleTimeoutMs: number | undefined;
    readonly maxCommandTimeMs: number;
  };
  /** Conversations are summarized when they fill this share of the context window. */
  readonly compaction: { readonly auto: boolean; readonly at: number };
  readonly sandbox: {
    /** Additional writable roots. */
    readonly write: readonly string[];
    /** Paths that commands may read although they are hidden by default. */
    readonly read: readonly string[];
    /** Additional hidden paths. */
    readonly hide: readonly string[];
    /** Commands may commit. */
    readonly allowGit: boolean;
    /** Files that tell other tools what to run may be changed. */
    readonly allowConfig: boolean;
    /** Names of additional environment variables for commands. */
    readonly passEnv: readonly string[];
  };
  /** The starts of commands that need no approval. */
  readonly approvals: { readonly commands: readonly string[] };
  readonly egress: EgressConfig;
  readonly mcp: { readonly expose: McpExposure; readonly servers: ReadonlyMap<string, McpServerConfig> };
  readonly hooks: readonly HookConfig[];
};

/** The levels of trust, lowest first: a project file can only lower it. */
export const modes = ["plan", "safe", "auto"] as const;
export type Mode = (typeof modes)[number];

/** The hosts that commands may reach, fewest first: none, those on a list, every public host. */
export const networks = ["none", "allowlist", "open"] as const;
export type Network = (typeof networks)[number];

/** Host patterns as they are written in the configuration; lib/egress parses them. */
export type EgressConfig = {
  readonly mode: Network;
  /** In addition to the hosts that development needs. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
};

/** The moments at which a hook may run. */
export const hookMoments = [
  "session.start",
  "prompt",
  "tool.before",
  "tool.after",
  "stop",
  "turn.end",
  "session.end",
] as const;
export type HookMoment = (typeof hookMoments)[number];

/** A command of the user's that runs at such a moment. */
export type HookConfig = {
  readonly on: HookMoment;
  /** For whole names of tools; every tool when absent. */
  readonly match?: RegExp;
  readonly command: string;
  readonly timeoutMs: number;
  /** Its failure is a denial. */
  readonly required: boolean;
};

/** The protocols that a provider may speak. */
export const wires = ["chat", "responses", "messages"] as const;
export type Wire = (typeof wires)[number];

/** How a model edits files: by texts to replace (Edit), or by patches (ApplyPatch). */
export const editDialects = ["edit", "patch"] as const;
export type EditDialect = (typeof editDialects)[number];

/** A provider as the user configures it; the built-in provider of that name, if any, supplies the rest. */
export type ProviderConfig = {
  readonly baseUrl?: string;
  readonly apiKeyEnv?: string;
  /** The program that prints the key, and its arguments. */
  readonly apiKeyCommand?: readonly string[];
  /** Headers for each request, by lower-case name; `${VAR}` in a value is replaced by that variable. */
  readonly headers?: ReadonlyMap<string, string>;
  readonly wire?: Wire;
  readonly models: ReadonlyMap<string, ModelConfig>;
};

export type ModelConfig = {
  readonly contextWindow?: number;
  readonly maxOutput?: number;
  readonly images?: boolean;
  readonly edit?: EditDialect;
  /** USD per million tokens. */
  readonly price?: {
    readonly input: number;
    readonly cached?: number;
    readonly written?: number;
    readonly output: number;
  };
};

/** How tools of MCP servers are offered: each as a tool, or all behind one tool that lists and one that calls. */
export const mcpExposures = ["tools", "list"] as const;
type McpExposure = (typeof mcpExposures)[number];

/** An MCP server. `${VAR}` and `${VAR:-default}` in its texts are replaced when it is started. */
export type McpServerConfig = {
  /** It comes from a file that lies in the project, not from the user. */
  readonly isProjects: boolean;
  readonly transport: McpTransport;
  /** A run fails without it. */
  readonly required: boolean;
  readonly enabled: boolean;
  /** All of its tools when absent. */
  readonly enabledTools: readonly string[] | undefined;
  readonly disabledTools: readonly string[];
  readonly startTimeoutMs: number;
  readonly callTimeoutMs: number;
};

/** A program that speaks over its standard streams, or an address that speaks streamable HTTP. */
export type McpTransport =
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: ReadonlyMap<string, string>;
      /** Relative to the project. */
      readonly cwd: string | undefined;
    }
  | {
      readonly kind: "http";
      readonly url: string;
      readonly headers: ReadonlyMap<string, string>;
      /** The program that prints headers, and its arguments. */
      readonly headersCommand: readonly string[] | undefined;
    };

/** `flag --mode`, `environment KODA_MODEL`, `project .koda/config.json`, `user /home/me/.config/koda/config.json`. */
export type Origin = `${"flag" | "client" | "environment" | "project" | "user"} ${string}` | "default";

export type LoadedConfig = {
  readonly config: Config;
  /** By dotted key, for every key that has a value or a default. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** The raw values for display, by dotted key: anything that may be a secret is masked. */
  readonly display: ReadonlyMap<string, unknown>;
  /** The trust in the project's files, and the names of those that were ignored: `.koda/config.json: providers`. */
  readonly project: ProjectTrust;
};
