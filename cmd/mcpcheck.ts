import { SerialQueue } from "../lib/async/serialqueue.ts";
import type { McpServerConfig } from "../lib/config/config.ts";
import { wantedOf } from "../lib/conversation/allowance.ts";
import { definitionsFor, directoriesOf } from "../lib/conversation/definitions.ts";
import { describeSkipped } from "../lib/config/describe.ts";
import { counted } from "../lib/counted.ts";
import { KodaError } from "../lib/errors.ts";
import type { Event } from "../lib/engine/event.ts";
import { inMemory } from "../lib/session/database.ts";
import { openPaint, type Paint, plain, wantsColor } from "../lib/sink/style.ts";
import { baseSettings } from "./basesettings.ts";
import { printNote } from "./note.ts";
import type { CommandOptions } from "./options.ts";
import { asJson, print } from "./print.ts";
import { linesOf } from "./sandboxed.ts";
import { type TriedServer, tryServers } from "./servertrial.ts";
import type { Stopper } from "./signals.ts";
import { isTerminal } from "./terminal.ts";
import { version } from "./version.ts";

type CheckOptions = CommandOptions<"mcp check">;

/** `koda mcp check`: exit 0 when all servers start as a run would start them, else 1. */
export async function checkServers(options: CheckOptions, stopper: Stopper): Promise<number> {
  const settings = { ...(await baseSettings(options)), version, database: inMemory };
  const allowance = wantedOf(settings.loaded.config);
  const definitions = definitionsFor(settings, allowance);
  const warnings = settings.loaded.project.skipped.map(describeSkipped);
  await printNote(...[...warnings, ...definitions.plugins.notices].map((text) => `koda: warning: ${text}`));
  const configs = chosen(definitions.servers, options.name);
  const trial = { configs, settings, allowance, definitionDirectories: directoriesOf(definitions) };
  const checked = await withNotes((post) => tryServers({ ...trial, post }, stopper.controller.signal));
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

/** Prints what is posted, each line once: a server over HTTP is tried several times. */
async function withNotes<T>(work: (post: (event: Event) => void) => Promise<T>): Promise<T> {
  const lines = new SerialQueue();
  const shown = new Set<string>();
  const post = (event: Event) => {
    const fresh = linesOf(event).filter((line) => !shown.has(line));
    for (const line of fresh) shown.add(line);
    void lines.run(() => printNote(...fresh));
  };
  try {
    return await work(post);
  } finally {
    // Closing the workspace posts the last notices.
    await lines.run(async () => {});
  }
}

async function pageOf(checked: readonly TriedServer[]): Promise<string> {
  const paint = openPaint(wantsColor("auto", await isTerminal(1), process.env));
  const width = Math.max(...checked.map(({ name }) => name.length));
  return checked.map((server) => lineOf(server, paint, width)).join("");
}

function lineOf({ name, status, tools, error = "", fix }: TriedServer, paint: Paint, width: number): string {
  const marks = { ok: paint.green("✓"), disabled: paint.yellow("-"), failed: paint.red("✗") };
  const words = { ok: counted(tools, "tool"), disabled: "disabled", failed: plain(error) };
  const more = fix === undefined ? "" : `${" ".repeat(width + 3)}fix: ${plain(fix)}\n`;
  return `${marks[status]} ${name.padEnd(width)} ${words[status]}\n${more}`;
}
