import { isRecord, parseJson, stringIn } from "../config/json.ts";
import { KodaError } from "../errors.ts";
import { printedSecrets, runUsersProgram, type UsersProgramOptions } from "../shell/usersprogram.ts";
import { sanitize } from "./errorbody.ts";
import type { ApiKey } from "./key.ts";

type KeyCommandOptions = Omit<UsersProgramOptions, "fail"> & { provider: string };

/** The key that the user's program prints; `renew` runs it again. */
export async function keyFromCommand(argv: readonly string[], options: KeyCommandOptions): Promise<ApiKey> {
  let { value, expiresAt } = await runKeyCommand(argv, options);
  return {
    get value() {
      return value;
    },
    isExpired: () => expiresAt !== undefined && Date.now() >= expiresAt - marginMs,
    async renew(signal) {
      ({ value, expiresAt } = await runKeyCommand(argv, { ...options, signal }));
    },
  };
}

/** A key that is about to expire would be refused on arrival. */
const marginMs = 10_000;

/** The key of a replay, which runs no program; a recorded 401 is followed by the recorded retry. */
export const replayKey: ApiKey = {
  value: "no-key-in-a-replay",
  isExpired: () => false,
  renew: async () => {},
};

type PrintedKey = { value: string; expiresAt: number | undefined };

async function runKeyCommand(
  argv: readonly string[],
  { provider, ...options }: KeyCommandOptions,
): Promise<PrintedKey> {
  const fail: UsersProgramOptions["fail"] = (problem, { stdout, stderr } = { stdout: "", stderr: "" }) => {
    const said = sanitize(stderr, printedSecrets(stdout));
    const because = said === "" ? "" : `: ${said}`;
    return new KodaError(
      "credentials",
      `Cannot get the API key of the provider "${provider}": api_key_command "${argv[0]}" ${problem}${because}`,
    );
  };
  const printed = await runUsersProgram(argv, { ...options, fail });
  const key = keyIn(printed.stdout.trim());
  if (key === undefined)
    throw fail("did not print a key: expected one line without spaces, or JSON with api_key", printed);
  return key;
}

/** The key on a line, or `{"api_key": "…", "expires_at": "2026-11-19T12:00:00Z"}`; a Unix time is accepted too. */
function keyIn(printed: string): PrintedKey | undefined {
  const json = parseJson(printed);
  if (!isRecord(json)) {
    const line = typeof json === "string" ? json : printed;
    return isKey(line) ? { value: line, expiresAt: undefined } : undefined;
  }
  const value = stringIn(json, "api_key")?.trim() ?? "";
  return isKey(value) ? { value, expiresAt: timeOf(json.expires_at) } : undefined;
}

function isKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

function timeOf(value: unknown): number | undefined {
  const ms = typeof value === "number" ? value * 1000 : typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
