import type { MakeError } from "./entries.ts";
import { namesBelow } from "./keypath.ts";
import { unknownKey } from "./unknownkey.ts";

/** The keys that only a server with this key may have. */
const dependent = { command: ["args", "env", "cwd"], url: ["headers", "headers_command"] } as const;

type TransportKey = keyof typeof dependent;

/** The key that says how an MCP server is reached; `at` names its entry. */
export function transportKey(names: readonly string[], at: string, fail: MakeError): TransportKey {
  const hasUrl = names.includes("url");
  if (names.includes("command") === hasUrl)
    throw fail(`"${at}" needs either "command" or "url", its keys are ${JSON.stringify(names)}`);
  return hasUrl ? "url" : "command";
}

/** The keys that an entry with this one may have. */
export function keysBeside(key: TransportKey): readonly string[] {
  const other = key === "url" ? "command" : "url";
  const foreign: readonly string[] = [other, ...dependent[other]];
  return namesBelow("mcp.servers.*").filter((name) => !foreign.includes(name));
}

/** Throws when the entry has a key of the other transport: it would have no effect. */
export function checkTransport(names: readonly string[], at: string, fail: MakeError): TransportKey {
  const key = transportKey(names, at, fail);
  const known = keysBeside(key);
  const foreign = names.find((name) => !known.includes(name));
  if (foreign !== undefined) throw fail(unknownKey(foreign, `in "${at}", which has "${key}"`, known));
  return key;
}
