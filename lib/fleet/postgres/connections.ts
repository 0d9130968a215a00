import { SQL } from "bun";
import { formatDuration } from "../../config/units.ts";
import type { PostgresAddress } from "./postgresaddress.ts";

/** One statement, on a connection of its own or on that of a transaction. */
export type Run = (sql: string, values?: readonly unknown[]) => Promise<unknown>;

type ConnectionOptions = {
  /** The most connections at once; a client opens all of them. */
  most: number;
  /** A statement that has not been answered for so long never will be. */
  silenceMs?: number;
};

const defaultSilenceMs = 20_000;

/**
 * Connections to one server. A network that is cut without a word, or a machine that is gone, would keep a statement
 * waiting for a quarter of an hour; here its connections are given up, the statement fails, and the next one connects.
 */
export class Connections implements AsyncDisposable {
  readonly #options: SQL.Options;
  readonly #silenceMs: number;
  /** Those that were given up. */
  readonly #silent = new WeakSet<SQL>();
  #client: SQL | undefined;
  #isClosed = false;

  constructor({ options }: PostgresAddress, { most, silenceMs = defaultSilenceMs }: ConnectionOptions) {
    this.#silenceMs = silenceMs;
    const connectionTimeout = Math.ceil(Math.min(silenceMs, 10_000) / 1000);
    this.#options = { ...options, max: most, idleTimeout: 60, connectionTimeout, connection: session(silenceMs) };
  }

  readonly run: Run = async (sql, values) => {
    const client = this.#open();
    return await this.#answered(client, client.unsafe(sql, values && [...values]));
  };

  /** A connection that nobody else uses until it is released. */
  async reserve(): Promise<{ run: Run; release(): void }> {
    const client = this.#open();
    const reserved = await client.reserve().catch((error: unknown) => {
      throw this.#failure(client, error);
    });
    return {
      run: async (sql, values) => await this.#answered(client, reserved.unsafe(sql, values && [...values])),
      release: () => void reserved.release(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#client?.close({ timeout: 0 });
  }

  #open(): SQL {
    if (this.#isClosed) throw new Closed();
    this.#client ??= new SQL(this.#options);
    return this.#client;
  }

  async #answered(client: SQL, statement: Promise<unknown>): Promise<unknown> {
    const timer = setTimeout(() => this.#giveUp(client), this.#silenceMs);
    try {
      return await statement;
    } catch (error) {
      throw this.#failure(client, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** All that waits for an answer on its connections is rejected. */
  #giveUp(client: SQL): void {
    this.#silent.add(client);
    if (this.#client === client) this.#client = undefined;
    void client.close({ timeout: 0 });
  }

  #failure(client: SQL, error: unknown): unknown {
    if (this.#isClosed) return new Closed();
    return this.#silent.has(client) ? new Silence(this.#silenceMs) : error;
  }
}

/** Not an outage, so nothing waits for its end. */
class Closed extends Error {
  override readonly message = "the connections to PostgreSQL have been closed";
}

class Silence extends SQL.PostgresError {
  constructor(ms: number) {
    super(`no answer for ${formatDuration(ms)}`, { code: "ERR_POSTGRES_CONNECTION_TIMEOUT" });
  }
}

/**
 * The server gives up as well, and a little earlier, so that it answers where it can. What a client that is gone has
 * locked is free again before others stop waiting for it.
 */
function session(silenceMs: number): Record<string, string | number> {
  return {
    application_name: "koda",
    search_path: "koda",
    statement_timeout: Math.round(silenceMs * 0.75),
    idle_in_transaction_session_timeout: Math.round(silenceMs / 2),
    tcp_user_timeout: silenceMs,
    tcp_keepalives_idle: 15,
    tcp_keepalives_interval: 5,
    tcp_keepalives_count: 3,
  };
}
