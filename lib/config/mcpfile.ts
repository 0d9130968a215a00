import { configFault, parseConfigText, readConfigText } from "./configfile.ts";
import { entriesIn, type ConfigEntry, type MakeError } from "./entries.ts";
import { excerptOfJson } from "./excerpt.ts";
import { isRecord } from "./json.ts";
import { formatPath } from "./keypath.ts";
import { keysBeside, transportKey } from "./transport.ts";

/** The MCP servers of a file that other programs read too: `{"mcpServers": {NAME: {…}}}`. */
type McpFile = {
  readonly entries: readonly ConfigEntry[];
  /** The keys that koda does not know, or cannot obey: `mcpServers.files.autoApprove`. */
  readonly ignored: readonly string[];
};

/** Undefined when there is no file; messages call it `name`. With `isReal` no symlink is followed. */
export async function readMcpFile(
  file: string,
  name: string,
  options?: { isReal: boolean },
): Promise<McpFile | undefined> {
  const fail = configFault(name);
  const text = readConfigText(file, fail, options);
  return text === undefined ? undefined : mcpFileOf(await parseConfigText(text, fail), fail);
}

/** The same for what is no file. */
export function serversIn(value: unknown, name: string): McpFile {
  return mcpFileOf(value, configFault(name));
}

/** The names of a file's servers, whatever else is in it. */
export async function serverNamesIn(file: string, name: string): Promise<string[]> {
  const fail = configFault(name);
  const text = readConfigText(file, fail, { isReal: true });
  const value = text === undefined ? undefined : await parseConfigText(text, fail);
  return isRecord(value) && isRecord(value.mcpServers) ? Object.keys(value.mcpServers) : [];
}

function mcpFileOf(value: unknown, fail: MakeError): McpFile {
  if (!isRecord(value)) throw fail(`the top level is ${excerptOfJson(value)}, expected an object`);
  const { mcpServers = {}, ...others } = value;
  const ignored = Object.keys(others).map((name) => JSON.stringify(name));
  const servers = isRecord(mcpServers)
    ? Object.fromEntries(
        Object.entries(mcpServers).flatMap(([name, server]) => {
          const read = serverOf(server, ["mcpServers", name], fail);
          ignored.push(...read.ignored);
          return read.server === undefined ? [] : [[name, read.server]];
        }),
      )
    : mcpServers;
  const found = entriesIn(servers, fail, ["mcpServers"], "mcp.servers");
  const entries = found.map((entry) => ({ ...entry, path: ["mcp", "servers", ...entry.path.slice(1)] }));
  return { entries, ignored };
}

type Read = { server: unknown; ignored: readonly string[] };

/** The keys of an entry that koda has. Other programs put keys of their own beside them. */
function serverOf(given: unknown, path: readonly string[], fail: MakeError): Read {
  // It is refused where the types of all keys are checked.
  if (!isRecord(given)) return { server: given, ignored: [] };
  const at = formatPath(path);
  const { type, disabled, ...rest } = given;
  if (type === "sse") {
    if (rest.required === true) throw fail(`"${at}" is required, but speaks SSE, which koda does not`);
    return { server: undefined, ignored: [`${at}.type`] };
  }
  const key = transportKey(Object.keys(given), at, fail);
  checkType(type, key, { at, fail });
  if (disabled !== undefined && typeof disabled !== "boolean")
    throw fail(`"${at}.disabled" is ${excerptOfJson(disabled)}, expected true or false`);
  const known = keysBeside(key);
  const entries = Object.entries(rest);
  const server = Object.fromEntries(entries.filter(([name]) => known.includes(name)));
  const ignored = entries.filter(([name]) => !known.includes(name)).map(([name]) => formatPath([...path, name]));
  // Several programs write this. To start what their user has switched off would be wrong.
  return { server: disabled === true ? { ...server, enabled: false } : server, ignored };
}

const urlTypes: readonly unknown[] = ["http", "streamable-http"];

function checkType(type: unknown, key: "command" | "url", { at, fail }: { at: string; fail: MakeError }): void {
  const isUrlType = urlTypes.includes(type);
  if (type !== undefined && type !== "stdio" && !isUrlType)
    throw fail(`"${at}.type" is ${excerptOfJson(type)}, expected "stdio" or "http"`);
  if (type === undefined || isUrlType === (key === "url")) return;
  throw fail(`"${at}.type" is ${excerptOfJson(type)}, which needs "${isUrlType ? "url" : "command"}"`);
}
