import { join } from "node:path";
import { KodaError } from "../errors.ts";
import { serverOfEntries } from "./assemble.ts";
import type { HookConfig, McpServerConfig } from "./config.ts";
import { checkServerName, entriesIn, type MakeError } from "./entries.ts";
import { excerptOfJson } from "./excerpt.ts";
import { hookList } from "./hooklist.ts";
import { isRecord, type JsonRecord, readJson } from "./json.ts";
import { typedKeys } from "./schema.ts";
import { unknownKey } from "./unknownkey.ts";

/** The additions of a `plugin.json` to a run. Its skills and agents are directories beside it. */
export type PluginParts = {
  readonly version: string;
  readonly server?: McpServerConfig;
  readonly prompt?: PluginPrompt;
  readonly hooks: readonly HookConfig[];
};

/** A text for the model, before or after the project's instructions; a higher priority comes first. */
export type PluginPrompt = { readonly slot: Slot; readonly priority: number; readonly text: string };

const slots = ["before", "after"] as const;
type Slot = (typeof slots)[number];

type Place = { name: string; directory: string; scope: "project" | "user" };

const known = ["name", "version", "description", "tools", "prompt", "hooks"];

/** Reads a `plugin.json` strictly. Throws a KodaError without the file's name. */
export function pluginParts(text: string, place: Place): PluginParts {
  const { value, problem } = readJson(text);
  if (problem !== undefined) throw fail(problem);
  if (!isRecord(value)) throw fail(`the top level is ${excerptOfJson(value)}, expected an object`);
  assertKnown(value, known, "the top level");
  const { name, version } = value;
  if (name !== place.name)
    throw fail(`"name" is ${excerptOfJson(name)}, expected the directory's name ${JSON.stringify(place.name)}`);
  if (typeof version !== "string" || version === "")
    throw fail(`"version" is ${excerptOfJson(version)}, expected a non-empty string`);
  const { tools, prompt, hooks = [] } = rooted(value, place.directory);
  return {
    version,
    hooks: hooksIn(hooks),
    ...(tools !== undefined && { server: serverIn(tools, place) }),
    ...(prompt !== undefined && { prompt: promptIn(prompt) }),
  };
}

const fail: MakeError = (problem) => new KodaError("config", problem);

function assertKnown(record: JsonRecord, names: readonly string[], where: string): void {
  const unknown = Object.keys(record).find((name) => !names.includes(name));
  if (unknown !== undefined) throw fail(unknownKey(unknown, `in ${where}`, names));
}

/** `${PLUGIN_ROOT}` in any text becomes the plugin's own directory. */
function rooted(value: JsonRecord, directory: string): JsonRecord {
  const replaced = (part: unknown): unknown => {
    if (typeof part === "string") return part.replaceAll("${PLUGIN_ROOT}", () => directory);
    if (Array.isArray(part)) return part.map(replaced);
    return isRecord(part) ? rooted(part, directory) : part;
  };
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, replaced(part)]));
}

function hooksIn(raw: unknown): readonly HookConfig[] {
  const hooks = hookList.read(raw);
  if (hooks !== undefined) return hooks;
  throw fail(hookList.fault?.(raw, "hooks") ?? `"hooks" is ${excerptOfJson(raw)}, expected ${hookList.expected}`);
}

/** The program may be named by its path in the plugin. */
function serverIn(raw: unknown, { name, directory, scope }: Place): McpServerConfig {
  const isOwn = isRecord(raw) && typeof raw.command === "string" && raw.command.startsWith("./");
  const given = isOwn ? { ...raw, command: join(directory, String(raw.command)) } : raw;
  checkServerName(name, fail);
  const found = entriesIn(given, fail, ["tools"], "mcp.servers.*");
  if (found.some(({ path }) => path[1] === "command") === found.some(({ path }) => path[1] === "url"))
    throw fail('"tools" needs either "command" or "url"');
  const entries = found.map((entry) => ({ ...entry, path: ["mcp", "servers", name, ...entry.path.slice(1)] }));
  const refused = scope === "project" ? entries.find(({ key }) => typedKeys[key].ofProject === "never") : undefined;
  if (refused !== undefined) throw fail(`"tools.${refused.path.at(-1)}" cannot be set by a project`);
  return serverOfEntries(name, entries, scope === "project");
}

function promptIn(raw: unknown): PluginPrompt {
  if (!isRecord(raw)) throw fail(`"prompt" is ${excerptOfJson(raw)}, expected an object`);
  assertKnown(raw, ["slot", "priority", "text"], '"prompt"');
  const { slot: given = "after", priority = 0, text } = raw;
  const slot = slots.find((one) => one === given);
  if (slot === undefined) throw fail(`"prompt.slot" is ${excerptOfJson(given)}, expected "before" or "after"`);
  if (typeof priority !== "number") throw fail(`"prompt.priority" is ${excerptOfJson(priority)}, expected a number`);
  if (typeof text !== "string" || text.trim() === "" || text.length > longestText)
    throw fail(`"prompt.text" is not a text of at most ${longestText} characters`);
  return { slot, priority, text };
}

const longestText = 8_000;
