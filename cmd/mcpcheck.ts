import { SerialQueue } from "../lib/async/serialqueue.ts";
import type { McpServerConfig } from "../lib/config/config.ts";
import { type Allowance, wantedOf } from "../lib/conversation/allowance.ts";
import { definitionsFor, directoriesOf } from "../lib/conversation/definitions.ts";
import { hiddenProgram } from "../lib/conversation/hiddenprogram.ts";
import { startServers } from "../lib/conversation/servers.ts";
import { assertSandbox } from "../lib/conversation/workspace/confinement.ts";
import { openWorkspace, type Workspace } from "../lib/conversation/workspace.ts";
import { describeSkipped } from "../lib/config/describe.ts";
import { counted } from "../lib/counted.ts";
import { KodaError } from "../lib/errors.ts";
import { inMemory } from "../lib/session/database.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import { openPaint, type Paint, plain, wantsColor } from "../lib/sink/style.ts";
import { baseSettings } from "./basesettings.ts";
import { printNote } from "./note.ts";
import type { CommandOptions } from "./options.ts";
import { asJson, print } from "./print.ts";
import { keyVariables, linesOf } from "./sandboxed.ts";
import type { Stopper } from "./signals.ts";
import { isTerminal } from "./terminal.ts";
import { version } from "./version.ts";

type CheckOptions = CommandOptions<"mcp check">;
type Settings = Awaited<ReturnType<typeof baseSettings>> & { version: string; database: string };

type Checked = {
  name: string;
  status: "ok" | "failed" | "disabled";
  tools: number;
  error?: string;
  /** A way to repair it, where koda knows one. */
  fix?: string;
};

/** `koda mcp check`: exit 0 when all servers start as a run would start them, else 1. */
export async function checkServers(options: CheckOptions, stopper: Stopper): Promise<number> {
  const settings = { ...(await baseSettings(options)), version, database: inMemory };
  const allowance = wantedOf(settings.loaded.config);
  const definitions = definitionsFor(settings, allowance);
  const warnings = settings.loaded.project.skipped.map(describeSkipped);
  await printNote(...[...warnings, ...definitions.plugins.notices].map((text) => `koda: warning: ${text}`));
  const configs = chosen(definitions.servers, options.name);
  const checking = { configs, settings, allowance, definitionDirectories: directoriesOf(definitions) };
  const checked = configs.size === 0 ? [] : await check(checking, stopper);
  if (options.json) await print(asJson(checked));
  else if (checked.length === 0) await printNote("No MCP servers to check");
  else await print(await pageOf(checked));
  return checked.some(({ status }) => status === "failed") ? 1 : 0;
}

type Configs = ReadonlyMap<string, McpServerConfig>;

function chosen(servers: Configs, name: string | undefined): Configs {
  if (name === undefined) return servers;
  const server = servers.get(name);
  if (server !== undefined) return new Map([[name, server]]);
  const known = servers.size === 0 ? "there are none" : `there are ${[...servers.keys()].join(", ")}`;
  throw new KodaError("usage", `No MCP server "${name}": ${known}`);
}

type Checking = {
  configs: Configs;
  settings: Settings;
  allowance: Allowance;
  /** Commands and servers may read them. */
  definitionDirectories: readonly string[];
};

async function check(
  { configs, settings, allowance, definitionDirectories }: Checking,
  { controller: { signal } }: Stopper,
): Promise<Checked[]> {
  const lines = new SerialQueue();
  const shown = new Set<string>();
  // A server over HTTP is tried several times.
  const post = (event: Parameters<typeof linesOf>[0]) => {
    const fresh = linesOf(event).filter((line) => !shown.has(line));
    for (const line of fresh) shown.add(line);
    void lines.run(() => printNote(...fresh));
  };
  try {
    await using workspace = await openWorkspace({
      settings,
      allowance,
      definitionDirectories,
      accept: (confinement) => assertSandbox(confinement, allowance),
      keyVariables: keyVariables(settings.loaded.config, configs),
      post,
      reaper: new Reaper(),
      stop: signal,
    });
    await using servers = await startServers(configs, { settings, workspace, allowance, post }, signal);
    await servers.attempted(signal);
    const { counts: tools } = await servers.offer();
    const place = { settings, workspace, configs };
    return servers.statuses.map((status) => checkedOf(status, tools.get(status.name) ?? 0, place));
  } finally {
    // Closing the workspace posts the last notices.
    await lines.run(async () => {});
  }
}

type Servers = Awaited<ReturnType<typeof startServers>>;
type Place = { settings: Settings; workspace: Workspace; configs: Configs };

function checkedOf({ name, status, error }: Servers["statuses"][number], tools: number, place: Place): Checked {
  if (status === "disabled") return { name, status, tools };
  if (status === "connected") return { name, status: "ok", tools };
  const transport = place.configs.get(name)?.transport;
  const { settings, workspace } = place;
  const fix = transport?.kind === "stdio" ? hiddenProgram(transport, settings, workspace.policy) : undefined;
  return { name, status: "failed", tools, error: error ?? "it did not start", ...(fix !== undefined && { fix }) };
}

async function pageOf(checked: readonly Checked[]): Promise<string> {
  const paint = openPaint(wantsColor("auto", await isTerminal(1), process.env));
  const width = Math.max(...checked.map(({ name }) => name.length));
  return checked.map((server) => lineOf(server, paint, width)).join("");
}

function lineOf({ name, status, tools, error = "", fix }: Checked, paint: Paint, width: number): string {
  const marks = { ok: paint.green("✓"), disabled: paint.yellow("-"), failed: paint.red("✗") };
  const words = { ok: counted(tools, "tool"), disabled: "disabled", failed: plain(error) };
  const more = fix === undefined ? "" : `${" ".repeat(width + 3)}fix: ${plain(fix)}\n`;
  return `${marks[status]} ${name.padEnd(width)} ${words[status]}\n${more}`;
}
