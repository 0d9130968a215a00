import { isRecord, parseJson } from "../config/json.ts";
import { entriesIn } from "../config/entries.ts";
import type { McpTransport } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import { sanitize } from "../model/errorbody.ts";
import { isSecretHeader } from "../model/headers.ts";
import { printedSecrets, runUsersProgram, type UsersProgramOptions } from "../shell/usersprogram.ts";
import type { Expansion, Secrets } from "./expansion.ts";

/** The user's headers for the requests to a server. */
export type ServerHeaders = {
  current(): Promise<Readonly<Record<string, string>>>;
  /** Called once after a 401. */
  renew?(): Promise<void>;
  /** Why a server that still answers 401 cannot be used. */
  readonly refusal: string;
};

type HttpTransport = Extract<McpTransport, { kind: "http" }>;
type CommandOptions = Omit<UsersProgramOptions, "fail"> & { server: string };

/** The headers of the configuration, and over them those that the user's program prints at the first request. */
export function serverHeaders(
  { headers, headersCommand }: HttpTransport,
  { text, secrets }: Expansion,
  options: CommandOptions,
): ServerHeaders {
  const given = Object.fromEntries(
    [...headers].map(([name, value]) => [name, text(value, { isSecret: isSecretHeader(name) }).trim()]),
  );
  if (headersCommand === undefined) {
    const refusal = Object.keys(given).some(isSecretHeader) ? refusedHeaders : noSignIn;
    return { current: async () => given, refusal };
  }
  let running: Promise<Readonly<Record<string, string>>> | undefined;
  let printed: Readonly<Record<string, string>> | undefined;
  // Several requests may want it at the same time.
  const run = async () => {
    running ??= printHeaders(headersCommand, options, secrets).finally(() => (running = undefined));
    return (printed = await running);
  };
  return {
    current: async () => ({ ...given, ...(printed ?? (await run())) }),
    renew: async () => void (await run()),
    refusal: `it does not accept what headers_command prints (HTTP 401)`,
  };
}

const refusedHeaders = `it does not accept the credentials in "headers" (HTTP 401)`;
const noSignIn =
  'it wants a sign-in (HTTP 401), and koda has no browser flow: put a bearer token into "headers" of the server ' +
  '("Authorization": "Bearer ${TOKEN}"), or the program that prints it into "headers_command"';

async function printHeaders(
  argv: readonly string[],
  { server, ...options }: CommandOptions,
  secrets: Secrets,
): Promise<Readonly<Record<string, string>>> {
  const fail: UsersProgramOptions["fail"] = (problem, { stdout, stderr } = { stdout: "", stderr: "" }) => {
    const hidden = printedSecrets(stdout);
    const said = sanitize(stderr, hidden);
    const because = said === "" ? "" : `: ${said}`;
    return new KodaError(
      "config",
      `Cannot get the headers of the MCP server "${server}": headers_command "${argv[0]}" ${sanitize(problem, hidden)}${because}`,
    );
  };
  const printed = await runUsersProgram(argv, { ...options, fail });
  const value = parseJson(printed.stdout);
  if (!isRecord(value))
    throw fail('did not print headers: expected a JSON object, as in {"Authorization": "Bearer …"}', printed);
  const bad = (problem: string) => fail(`printed bad headers: ${problem}`, printed);
  const entries = entriesIn(value, bad, [], "mcp.servers.*.headers");
  for (const { raw } of entries) secrets.add(String(raw));
  return Object.fromEntries(entries.map(({ path, raw }) => [path[0]?.toLowerCase() ?? "", String(raw).trim()]));
}
