import { SQL } from "bun";
import { KodaError } from "../../errors.ts";
import { visibleLine } from "../../visible.ts";

/** A server and a database on it. The password is only in the options. */
export type PostgresAddress = {
  options: SQL.Options;
  /** `PostgreSQL at db.example.com:5432, database "batches", user "koda"`: for messages. */
  place: string;
  user: string;
  database: string;
};

const form = "postgres://USER@HOST:5432/DATABASE";

/** Says nothing of the text but its scheme: whatever else is in it may be a password. */
export function parsePostgresUrl(text: string): PostgresAddress {
  const scheme = /^[a-z][a-z\d+.-]*:/i.exec(text)?.[0] ?? "";
  if (!["postgres:", "postgresql:"].includes(scheme)) throw badUrl(`its scheme is "${visibleLine(scheme)}"`);
  // Without this the client prefers PGDATABASE.
  const [, database = ""] = /^\w+:\/\/[^/?#]*\/([^?#]*)/.exec(text) ?? [];
  const options: SQL.Options = {
    url: text,
    adapter: "postgres",
    ...(database !== "" && { database: decoded(database) }),
  };
  return { options, ...describe(options) };
}

/** As the client understands the URL and the environment, in which libpq's variables stand for what it leaves out. */
function describe(options: SQL.Options): Pick<PostgresAddress, "place" | "user" | "database"> {
  const found = resolved(options);
  const at = found.path ?? `${found.hostname}:${found.port}`;
  const user = String(found.username);
  const database = String(found.database);
  const names = `database "${visibleLine(database)}", user "${visibleLine(user)}"`;
  return { place: `PostgreSQL at ${visibleLine(String(at))}, ${names}`, user, database };
}

type Resolved = { hostname?: unknown; port?: unknown; path?: unknown; username?: unknown; database?: unknown };

function resolved(options: SQL.Options): Resolved {
  try {
    return new SQL(options).options;
  } catch {
    // Its message may quote the URL.
    throw badUrl("it is not valid");
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw badUrl("a part of it is not percent-encoded");
  }
}

function badUrl(problem: string): KodaError {
  const expected = `Expected ${form}, with special characters in a password percent-encoded (@ is %40)`;
  return new KodaError("usage", `Cannot use this store URL: ${problem}. ${expected}`);
}
