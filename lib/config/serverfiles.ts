import { lstatSync } from "node:fs";
import { join } from "node:path";
import { KodaError } from "../errors.ts";
import { visibleLine } from "../visible.ts";
import type { Origin } from "./config.ts";
import { configFault } from "./configfile.ts";
import { setEntries, type EffectiveValues } from "./effective.ts";
import type { ConfigEntry } from "./entries.ts";
import { formatPath } from "./keypath.ts";
import { readMcpFile, serverNamesIn, serversIn } from "./mcpfile.ts";
import { projectServersName } from "./paths.ts";
import { typedKeys } from "./schema.ts";
import type { ProjectTrust } from "./trust.ts";

/** The servers of the project's `.mcp.json`, which is read only when the user trusts the project. */
export async function applyProjectServers(effective: EffectiveValues, root: string, trust: ProjectTrust) {
  const file = join(root, projectServersName);
  if (!trust.isTrusted) return await skipServers(file, trust);
  // It could lead to a file that is hidden from the run.
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
    throw configFault(projectServersName)(
      "it is a symbolic link, which is not followed: use --mcp-config .mcp.json instead of --trust-project",
    );
  const found = await readMcpFile(file, projectServersName, { isReal: true });
  if (found !== undefined) apply(effective, found, { trust, name: projectServersName, from: "project" });
}

/** The servers of a `--mcp-config FILE`. */
export async function applyServersFile(effective: EffectiveValues, file: string, trust: ProjectTrust): Promise<void> {
  const found = await readMcpFile(file, file);
  if (found === undefined) throw configFault(file)("there is no such file (--mcp-config)");
  apply(effective, found, { trust, name: file, from: "flag --mcp-config" });
}

/** The servers that a client of koda brings. */
export function applyClientServers(
  effective: EffectiveValues,
  servers: Readonly<Record<string, unknown>>,
  trust: ProjectTrust,
): void {
  const name = "the client's MCP servers";
  apply(effective, serversIn({ mcpServers: servers }, name), { trust, name, from: "client" });
}

/** A server of a nearer file replaces one of the same name as a whole: a part of it could send secrets of the other. */
export function forgetServers(effective: EffectiveValues, entries: readonly ConfigEntry[]): void {
  const names = new Set(entries.flatMap(({ key, path }) => (key.startsWith("mcp.servers.") ? [path[2]] : [])));
  for (const [dotted, { key, path }] of effective)
    if (key.startsWith("mcp.servers.") && names.has(path[2])) effective.delete(dotted);
}

type Found = NonNullable<Awaited<ReturnType<typeof readMcpFile>>>;
type Source = { trust: ProjectTrust; name: string; from: "project" | "flag --mcp-config" | "client" };

function apply(effective: EffectiveValues, { entries, ignored }: Found, { trust, name, from }: Source): void {
  for (const key of ignored) trust.skip(`${name}: ${key}`);
  forgetServers(effective, entries);
  const origin: Origin = `${from} ${name}`;
  for (const entry of entries)
    // Commands may be able to write to the file.
    if (typedKeys[entry.key].ofProject === "never") trust.skip(`${name}: ${nameIn(entry)}`);
    else setEntries(effective, [entry], origin);
}

function nameIn({ path }: ConfigEntry): string {
  return formatPath(["mcpServers", ...path.slice(2)]);
}

/** Names the servers as far as the file can be read: it may be anything. */
async function skipServers(file: string, trust: ProjectTrust): Promise<void> {
  try {
    const names = (await serverNamesIn(file, projectServersName)).map((name) => visibleLine(name).slice(0, 64));
    const shown = names.length > mostNames ? [...names.slice(0, mostNames), "…"] : names;
    if (names.length > 0) trust.skip(`${projectServersName}: ${shown.join(", ")}`);
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    trust.skip(projectServersName);
  }
}

const mostNames = 20;
