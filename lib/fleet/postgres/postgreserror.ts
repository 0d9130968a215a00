import { SQL } from "bun";
import { KodaError } from "../../errors.ts";
import { visibleLine } from "../../visible.ts";
import type { PostgresAddress } from "./postgresaddress.ts";

/** The oldest version that the queue works with. */
export const oldestPostgres = 13;

/** The server's own code, or the client's. */
function codeOf(error: unknown): string {
  return error instanceof SQL.PostgresError ? (error.errno ?? error.code) : "";
}

/** Another transaction was in the way: the same steps may well succeed in a moment. */
export function isConflict(error: unknown): boolean {
  return ["40001", "40P01", "55P03", "57014"].includes(codeOf(error));
}

/** The server is away, or the network to it. A statement under way may or may not have been carried out. */
export function isOutage(error: unknown): boolean {
  return /^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)_|08|57P0|53300$|25P03$)/.test(codeOf(error));
}

/** Errors that are not PostgreSQL's pass through unchanged. */
export function postgresFailure(address: PostgresAddress, error: unknown): unknown {
  if (!(error instanceof SQL.PostgresError)) return error;
  const code = isRefusal(error) ? "credentials" : "store";
  const message = `Cannot use ${address.place}: ${reasonOf(address, error)}.`;
  return new KodaError(code, message, { retryable: isOutage(error) || isConflict(error), cause: error });
}

function isRefusal(error: unknown): boolean {
  return ["28P01", "28000"].includes(codeOf(error)) || /AUTHENTICATION|PASSWORD|SASL/.test(codeOf(error));
}

function reasonOf({ database, user }: PostgresAddress, error: SQL.PostgresError): string {
  const said = visibleLine(error.message);
  const code = codeOf(error);
  if (isRefusal(error)) return `${said}. Check the user and the password of the URL, or set PGPASSWORD`;
  if (isOutage(error)) return `${said}. Check that it runs and that this machine may connect to it`;
  const named = visibleLine(database);
  if (code === "3D000") return `${said}. Create it with createdb ${named}`;
  // It knows this setting since version 12.
  if (code === "42704" && said.includes("tcp_user_timeout")) return tooOld("older than 12");
  if (code === "42501")
    return `${said}. User "${visibleLine(user)}" needs the right CREATE on the database, or to own its schemas koda and koda_boss`;
  return `${said}${error.errno === undefined ? "" : ` (${error.errno})`}`;
}

export function tooOld(version: string): string {
  return `its version is ${visibleLine(version)}. koda needs PostgreSQL ${oldestPostgres} or newer`;
}
