import { homedir } from "node:os";
import { resolve } from "node:path";
import { describeSkipped } from "../lib/config/describe.ts";
import { editConfigFile } from "../lib/config/edit.ts";
import { type ConfigEntry, entriesIn } from "../lib/config/entries.ts";
import { loadConfig } from "../lib/config/load.ts";
import { maskHeader } from "../lib/config/mask.ts";
import { configDirectory, userConfigFile } from "../lib/config/paths.ts";
import { wantedOf } from "../lib/conversation/allowance.ts";
import { definitionsFor } from "../lib/conversation/definitions.ts";
import { KodaError } from "../lib/errors.ts";
import { isSecretHeader } from "../lib/model/headers.ts";
import { isNamedSecret } from "../lib/shell/env.ts";
import { plain } from "../lib/sink/style.ts";
import { type ListedServer, listedServer } from "./listed.ts";
import { printNote } from "./note.ts";
import type { CommandOptions } from "./options.ts";
import { asJson, print } from "./print.ts";
import { currentProject } from "./project.ts";
import { tableOf } from "./table.ts";

type AddOptions = CommandOptions<"mcp add">;

/** `koda mcp add`: writes a server into the user's own configuration. */
export async function addServer(options: AddOptions): Promise<number> {
  const { name } = options;
  const path = ["mcp", "servers", name];
  const value = entryOf(options);
  const fail = (problem: string) => new KodaError("usage", `Cannot add the MCP server: ${problem}`);
  const added = entriesIn({ mcp: { servers: { [name]: value } } }, fail);
  const file = ownFile();
  await editConfigFile(file, {
    path,
    value: (entries) => {
      if (!hasServer(entries, name)) return value;
      throw fail(`"${name}" is taken in ${file} (koda mcp remove ${name} removes it)`);
    },
  });
  await print(`Added "${name}" to ${file}; koda mcp check ${name} starts it\n`);
  const open = added.filter(isOpenSecret).map(({ path }) => path.at(-1));
  if (open.length > 0)
    await printNote(`koda: warning: ${open.join(", ")} can be read in ${file}; \${VAR} takes the value of a variable`);
  return 0;
}

/** `koda mcp remove`: removes a server from the user's own configuration. */
export async function removeServer({ name }: CommandOptions<"mcp remove">): Promise<number> {
  const file = ownFile();
  await editConfigFile(file, {
    path: ["mcp", "servers", name],
    value: (entries) => {
      if (hasServer(entries, name)) return undefined;
      throw new KodaError("usage", `No MCP server "${name}" in ${file}: koda mcp list names them all`);
    },
  });
  await print(`Removed "${name}" from ${file}\n`);
  return 0;
}

/** `koda mcp list`: the servers that a run in this directory would start. */
export async function listServers({ json, mcpConfig, ...options }: CommandOptions<"mcp list">): Promise<number> {
  const mcpFiles = mcpConfig.map((file) => resolve(file));
  const project = { ...currentProject(options), bare: false };
  const loaded = await loadConfig({ ...project, sets: [], overrides: {}, mcpFiles });
  const settings = { ...project, loaded, configDirectory: configDirectory(project) };
  const definitions = definitionsFor(settings, wantedOf(loaded.config));
  const servers = [...definitions.servers].map(([name, server]) => listedServer(name, server, loaded));
  const { skipped } = loaded.project;
  if (json) await print(asJson({ servers, skipped }));
  else await showServers(servers, skipped);
  return 0;
}

async function showServers(servers: readonly ListedServer[], skipped: readonly string[]): Promise<void> {
  const rows = servers.map(({ name, enabled, transport, target, origin }) => [
    name,
    enabled ? transport : `${transport}, disabled`,
    target,
    origin,
  ]);
  if (rows.length > 0) await print(plain(tableOf([["NAME", "TRANSPORT", "COMMAND OR URL", "FROM"], ...rows])));
  else await printNote("No MCP servers: koda mcp add NAME -- CMD, or koda mcp add NAME --url URL, adds one");
  await printNote(...skipped.map((setting) => `koda: ${describeSkipped(setting)}`));
}

function entryOf({ command, url, env, header, required }: AddOptions): Record<string, unknown> {
  const [program, ...args] = command ?? [];
  if (program !== undefined && /^https?:\/\//.test(program))
    throw new KodaError("usage", `"${program}" is a URL, not a program: write --url ${program}`);
  const texts = (named: AddOptions["env"]) => Object.fromEntries(named.map(({ name, text }) => [name, text]));
  return {
    ...(program !== undefined && { command: program }),
    ...(args.length > 0 && { args }),
    ...(env.length > 0 && { env: texts(env) }),
    ...(url !== undefined && { url }),
    ...(header.length > 0 && { headers: texts(header) }),
    ...(required && { required }),
  };
}

/** A value that may be a secret, and stands in the file itself. */
function isOpenSecret({ key, path, raw }: ConfigEntry): boolean {
  const name = path.at(-1) ?? "";
  const isSecret = key === "mcp.servers.*.headers.*" ? isSecretHeader(name) : isNamedSecret(name);
  return path.length === 5 && isSecret && maskHeader(String(raw)) !== raw;
}

function hasServer(entries: readonly ConfigEntry[], name: string): boolean {
  return entries.some(({ path }) => path[0] === "mcp" && path[1] === "servers" && path[2] === name);
}

function ownFile(): string {
  const file = userConfigFile({ env: process.env, home: homedir() });
  if (file !== undefined) return file;
  throw new KodaError("config", "Cannot find your configuration: none of KODA_HOME, XDG_CONFIG_HOME and HOME is set");
}
