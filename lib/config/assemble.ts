import { join, resolve } from "node:path";
import { KodaError } from "../errors.ts";
import { isBelow } from "../files/path.ts";
import { realPaths } from "../files/real.ts";
import type { Config, McpServerConfig, McpTransport, ModelConfig, Origin, ProviderConfig } from "./config.ts";
import { type EffectiveValues, setEntries } from "./effective.ts";
import type { ConfigEntry } from "./entries.ts";
import { formatPath, type KeyPath } from "./keypath.ts";
import { checkTransport } from "./transport.ts";
import { typedKeys, type KeyName, type PlainKeyName, type Values } from "./schema.ts";

/** Relative paths start at `root`, `~/` is `home`. */
type Bases = { readonly root: string; readonly home: string };

/** The effective values as the program uses them: camel-case names, milliseconds, absolute paths. */
export function assemble(effective: EffectiveValues, bases: Bases): Config {
  const value = <K extends PlainKeyName>(key: K) => requiredValue(effective, key);
  const paths = (key: PathsKey) => [...new Set(value(key).map((path) => absolute(path, key, bases)))];
  return {
    model: value("model") ?? undefined,
    mode: value("mode"),
    providers: providersIn(effective),
    modelDefaults: {
      contextWindow: value("model_defaults.context_window"),
      streamIdleMs: value("model_defaults.stream_idle"),
    },
    limits: {
      maxTurns: value("limits.max_turns"),
      maxTokens: value("limits.max_tokens") ?? undefined,
      maxCostUsd: value("limits.max_cost") ?? undefined,
      timeoutMs: value("limits.timeout") ?? undefined,
      idleTimeoutMs: value("limits.idle_timeout") ?? undefined,
      maxCommandTimeMs: value("limits.max_command_time"),
    },
    compaction: { auto: value("compaction.auto"), at: value("compaction.at") },
    sandbox: {
      write: paths("sandbox.write"),
      read: paths("sandbox.read"),
      hide: paths("sandbox.hide"),
      allowGit: value("sandbox.allow_git"),
      allowConfig: value("sandbox.allow_config"),
      passEnv: [...new Set(value("sandbox.pass_env"))],
    },
    approvals: { commands: [...new Set(value("approvals.commands"))] },
    egress: {
      mode: value("egress.mode"),
      allow: [...new Set(value("egress.allow"))],
      deny: [...new Set(value("egress.deny"))],
    },
    mcp: { expose: value("mcp.expose"), servers: serversIn(effective, bases) },
    hooks: value("hooks"),
  };
}

/** Every key without a name of the user's has a default, so a missing value is a bug. */
function requiredValue<K extends PlainKeyName>(effective: EffectiveValues, key: K): Values[K] {
  const value = valueAt(effective, key, key.split("."));
  if (value === undefined) throw new Error(`the configuration has no value for ${key}`);
  return value;
}

function valueAt<K extends KeyName>(effective: EffectiveValues, key: K, path: KeyPath): Values[K] | undefined {
  return typedKeys[key].type.read(effective.get(formatPath(path))?.raw);
}

function providersIn(effective: EffectiveValues): ReadonlyMap<string, ProviderConfig> {
  const names = namesAt(effective, ["providers"]);
  return new Map(names.map((name) => [name, providerAt(effective, ["providers", name])]));
}

function providerAt(effective: EffectiveValues, path: KeyPath): ProviderConfig {
  const headers = textsAt(effective, "providers.*.headers.*", [...path, "headers"]);
  const models = namesAt(effective, [...path, "models"]);
  return {
    ...defined({
      baseUrl: valueAt(effective, "providers.*.base_url", [...path, "base_url"]),
      apiKeyEnv: valueAt(effective, "providers.*.api_key_env", [...path, "api_key_env"]),
      apiKeyCommand: valueAt(effective, "providers.*.api_key_command", [...path, "api_key_command"]),
      headers: headers.size > 0 ? headers : undefined,
      wire: valueAt(effective, "providers.*.wire", [...path, "wire"]),
    }),
    models: new Map(models.map((name) => [name, modelAt(effective, [...path, "models", name])])),
  };
}

function modelAt(effective: EffectiveValues, path: KeyPath): ModelConfig {
  return defined({
    contextWindow: valueAt(effective, "providers.*.models.*.context_window", [...path, "context_window"]),
    maxOutput: valueAt(effective, "providers.*.models.*.max_output", [...path, "max_output"]),
    images: valueAt(effective, "providers.*.models.*.images", [...path, "images"]),
    edit: valueAt(effective, "providers.*.models.*.edit", [...path, "edit"]),
    price: priceAt(effective, [...path, "price"]),
  });
}

/** A price with only one of input and output would give a wrong total, so it is an error. */
function priceAt(effective: EffectiveValues, path: KeyPath): ModelConfig["price"] {
  const input = valueAt(effective, "providers.*.models.*.price.input", [...path, "input"]);
  const cached = valueAt(effective, "providers.*.models.*.price.cached", [...path, "cached"]);
  const written = valueAt(effective, "providers.*.models.*.price.written", [...path, "written"]);
  const output = valueAt(effective, "providers.*.models.*.price.output", [...path, "output"]);
  if (input !== undefined && output !== undefined) return { input, output, ...defined({ cached, written }) };
  if ([input, cached, written, output].every((value) => value === undefined)) return undefined;
  const missing = input === undefined ? "input" : "output";
  throw new KodaError(
    "config",
    `Cannot use "${formatPath(path)}": "${missing}" is missing, a price needs input and output`,
  );
}

function serversIn(effective: EffectiveValues, bases: Bases): ReadonlyMap<string, McpServerConfig> {
  const names = namesAt(effective, ["mcp", "servers"]);
  return new Map(names.map((name) => [name, serverAt(effective, ["mcp", "servers", name], bases)]));
}

/** A server that is not in the configuration, from its checked entries. */
export function serverOfEntries(name: string, entries: readonly ConfigEntry[], isProjects: boolean): McpServerConfig {
  const effective: EffectiveValues = new Map();
  setEntries(effective, entries, "default");
  return { ...serverFields(effective, ["mcp", "servers", name]), isProjects };
}

function serverAt(effective: EffectiveValues, path: KeyPath, { root }: Bases): McpServerConfig {
  const origins = ["command", "url"].map((name) => effective.get(formatPath([...path, name]))?.origin ?? "default");
  return { ...serverFields(effective, path), isProjects: origins.some((origin) => isInProject(origin, root)) };
}

function serverFields(effective: EffectiveValues, path: KeyPath): Omit<McpServerConfig, "isProjects"> {
  return {
    transport: transportAt(effective, path),
    required: valueAt(effective, "mcp.servers.*.required", [...path, "required"]) ?? false,
    enabled: valueAt(effective, "mcp.servers.*.enabled", [...path, "enabled"]) ?? true,
    enabledTools: valueAt(effective, "mcp.servers.*.enabled_tools", [...path, "enabled_tools"]),
    disabledTools: valueAt(effective, "mcp.servers.*.disabled_tools", [...path, "disabled_tools"]) ?? [],
    startTimeoutMs: valueAt(effective, "mcp.servers.*.start_timeout", [...path, "start_timeout"]) ?? 30_000,
    callTimeoutMs: valueAt(effective, "mcp.servers.*.call_timeout", [...path, "call_timeout"]) ?? 120_000,
  };
}

/** A file of `--mcp-config` that lies in the project can be changed by commands, like the project's own. */
function isInProject(origin: Origin, root: string): boolean {
  const [, file] = /^flag --mcp-config (.*)$/s.exec(origin) ?? [];
  if (file === undefined) return origin.startsWith("project ");
  return realPaths(file).some((path) => isBelow(path, root));
}

function transportAt(effective: EffectiveValues, path: KeyPath): McpTransport {
  const at = formatPath(path);
  checkTransport(namesAt(effective, path), at, (problem) => new KodaError("config", `Cannot use "${at}": ${problem}`));
  const command = valueAt(effective, "mcp.servers.*.command", [...path, "command"]);
  const url = valueAt(effective, "mcp.servers.*.url", [...path, "url"]);
  if (command !== undefined)
    return {
      kind: "stdio",
      command,
      args: valueAt(effective, "mcp.servers.*.args", [...path, "args"]) ?? [],
      env: textsAt(effective, "mcp.servers.*.env.*", [...path, "env"]),
      cwd: valueAt(effective, "mcp.servers.*.cwd", [...path, "cwd"]),
    };
  return {
    kind: "http",
    url: url ?? "",
    headers: textsAt(effective, "mcp.servers.*.headers.*", [...path, "headers"]),
    headersCommand: valueAt(effective, "mcp.servers.*.headers_command", [...path, "headers_command"]),
  };
}

type TextsKey = "providers.*.headers.*" | "mcp.servers.*.env.*" | "mcp.servers.*.headers.*";

/** The texts below a path, by their names. Names of headers are equal in lower and upper case. */
function textsAt<K extends TextsKey>(effective: EffectiveValues, key: K, path: KeyPath): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const name of namesAt(effective, path)) {
    const value = valueAt(effective, key, [...path, name]);
    if (value !== undefined) texts.set(key.includes("headers") ? name.toLowerCase() : name, value);
  }
  return texts;
}

/** The names that the user gave below a path, in order of first use. */
function namesAt(effective: EffectiveValues, path: KeyPath): string[] {
  const below = [...effective.values()].filter((entry) => path.every((name, depth) => entry.path[depth] === name));
  return [...new Set(below.map((entry) => entry.path[path.length] ?? ""))];
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The record without its undefined properties. */
function defined<T extends object>(record: T): Defined<T> {
  // Object.fromEntries loses the names of the properties.
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Defined<T>;
}

type PathsKey = "sandbox.write" | "sandbox.read" | "sandbox.hide";

function absolute(path: string, key: PathsKey, { root, home }: Bases): string {
  if (path !== "~" && !path.startsWith("~/")) return resolve(root, path);
  if (home !== "") return join(home, path.slice(1));
  throw new KodaError("config", `Cannot use "${path}" in "${key}": HOME is not set`);
}
