import { join, resolve } from "node:path";
import { KodaError } from "../errors.ts";
import type { Config, ModelConfig, ProviderConfig } from "./config.ts";
import type { InForce } from "./inforce.ts";
import { formatPath, type KeyPath } from "./keypath.ts";
import { typedKeys, type KeyName, type PlainKeyName, type Values } from "./schema.ts";

/** Where relative paths and `~/` begin. */
type Bases = { readonly root: string; readonly home: string };

/** The values in force as the program wants them: in its names, in milliseconds, with absolute paths. */
export function assemble(inForce: InForce, bases: Bases): Config {
  const value = <K extends PlainKeyName>(key: K) => standing(inForce, key);
  const pathsAt = (key: PathsKey) => [...new Set(value(key).map((path) => absolute(path, key, bases)))];
  return {
    model: value("model") ?? undefined,
    mode: value("mode"),
    providers: providersIn(inForce),
    modelDefaults: {
      contextWindow: value("model_defaults.context_window"),
      streamIdleMs: value("model_defaults.stream_idle"),
    },
    limits: {
      maxTurns: value("limits.max_turns"),
      maxTokens: value("limits.max_tokens") ?? undefined,
      timeoutMs: value("limits.timeout") ?? undefined,
      idleTimeoutMs: value("limits.idle_timeout") ?? undefined,
      maxCommandTimeMs: value("limits.max_command_time"),
    },
    sandbox: {
      write: pathsAt("sandbox.write"),
      read: pathsAt("sandbox.read"),
      hide: pathsAt("sandbox.hide"),
      allowGit: value("sandbox.allow_git"),
      passEnv: [...new Set(value("sandbox.pass_env"))],
    },
    egress: {
      mode: value("egress.mode"),
      allow: [...new Set(value("egress.allow"))],
      deny: [...new Set(value("egress.deny"))],
    },
  };
}

/** The value of a key that has a default: there always is one. */
function standing<K extends PlainKeyName>(inForce: InForce, key: K): Values[K] {
  const value = valueAt(inForce, key, key.split("."));
  if (value === undefined) throw new Error(`the configuration has no value for ${key}`);
  return value;
}

function valueAt<K extends KeyName>(inForce: InForce, key: K, path: KeyPath): Values[K] | undefined {
  return typedKeys[key].kind.read(inForce.get(formatPath(path))?.written);
}

function providersIn(inForce: InForce): ReadonlyMap<string, ProviderConfig> {
  const names = namesAt(inForce, ["providers"]);
  return new Map(names.map((name) => [name, providerAt(inForce, ["providers", name])]));
}

function providerAt(inForce: InForce, path: KeyPath): ProviderConfig {
  const baseUrl = valueAt(inForce, "providers.*.base_url", [...path, "base_url"]);
  const apiKeyEnv = valueAt(inForce, "providers.*.api_key_env", [...path, "api_key_env"]);
  const apiKeyCommand = valueAt(inForce, "providers.*.api_key_command", [...path, "api_key_command"]);
  const headers = headersAt(inForce, [...path, "headers"]);
  const wire = valueAt(inForce, "providers.*.wire", [...path, "wire"]);
  const models = namesAt(inForce, [...path, "models"]);
  return {
    ...(baseUrl !== undefined && { baseUrl }),
    ...(apiKeyEnv !== undefined && { apiKeyEnv }),
    ...(apiKeyCommand !== undefined && { apiKeyCommand }),
    ...(headers.size > 0 && { headers }),
    ...(wire !== undefined && { wire }),
    models: new Map(models.map((name) => [name, modelAt(inForce, [...path, "models", name])])),
  };
}

function headersAt(inForce: InForce, path: KeyPath): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const name of namesAt(inForce, path)) {
    const value = valueAt(inForce, "providers.*.headers.*", [...path, name]);
    if (value !== undefined) headers.set(name.toLowerCase(), value);
  }
  return headers;
}

function modelAt(inForce: InForce, path: KeyPath): ModelConfig {
  const contextWindow = valueAt(inForce, "providers.*.models.*.context_window", [...path, "context_window"]);
  const maxOutput = valueAt(inForce, "providers.*.models.*.max_output", [...path, "max_output"]);
  const images = valueAt(inForce, "providers.*.models.*.images", [...path, "images"]);
  const price = priceAt(inForce, [...path, "price"]);
  return {
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutput !== undefined && { maxOutput }),
    ...(images !== undefined && { images }),
    ...(price !== undefined && { price }),
  };
}

/** Half a price would make a wrong sum, so it is an error. */
function priceAt(inForce: InForce, path: KeyPath): ModelConfig["price"] {
  const input = valueAt(inForce, "providers.*.models.*.price.input", [...path, "input"]);
  const cached = valueAt(inForce, "providers.*.models.*.price.cached", [...path, "cached"]);
  const output = valueAt(inForce, "providers.*.models.*.price.output", [...path, "output"]);
  if (input !== undefined && output !== undefined) return { input, ...(cached !== undefined && { cached }), output };
  if (input === undefined && output === undefined && cached === undefined) return undefined;
  const missing = input === undefined ? "input" : "output";
  throw new KodaError(
    "config",
    `Cannot use "${formatPath(path)}": "${missing}" is missing, a price needs input and output`,
  );
}

/** The user's names below a path, in the order in which they were first given. */
function namesAt(inForce: InForce, path: KeyPath): string[] {
  const below = [...inForce.values()].filter((setting) => path.every((name, depth) => setting.path[depth] === name));
  return [...new Set(below.map((setting) => setting.path[path.length] ?? ""))];
}

type PathsKey = "sandbox.write" | "sandbox.read" | "sandbox.hide";

function absolute(path: string, key: PathsKey, { root, home }: Bases): string {
  if (path !== "~" && !path.startsWith("~/")) return resolve(root, path);
  if (home !== "") return join(home, path.slice(1));
  throw new KodaError("config", `Cannot use "${path}" in "${key}": there is no home directory: HOME is not set`);
}
