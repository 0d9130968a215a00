import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import { unlessRefused } from "../../lib/errors.ts";
import { asNobody, isRoot, nobody } from "./nobody.ts";
import { until } from "./until.ts";

/** A PostgreSQL server of a test's own, on a private socket: it has no port that others could take. */
export type PostgresServer = AsyncDisposable & {
  /** The directory of its socket. */
  directory: string;
  /** An empty database; returns its URL. */
  create(): Promise<string>;
  /** Ends it as a crash does, and starts it again on the same data. */
  restart(): Promise<void>;
  /** Ends it as a crash does. */
  stop(): Promise<void>;
  start(): Promise<void>;
};

/** Logs in with a password, and may not create anything in databases of others. */
export const guest = { user: "guest", password: "open sesame" };

const programs = findPrograms();
export const missingPostgres = programs === undefined ? "PostgreSQL is not installed" : undefined;

const owner = "koda";

export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  if (programs === undefined) throw new Error(missingPostgres);
  const directory = mkdtempSync(join(settings["fsync"] === "on" ? tmpdir() : fastDirectory(), "koda-postgres-"));
  if (isRoot) chownSync(directory, nobody, nobody);
  const data = join(directory, "data");
  run([join(programs, "initdb"), "-D", data, "-U", owner, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]);
  writeFileSync(join(data, "pg_hba.conf"), `local all ${guest.user} scram-sha-256\nlocal all all trust\n`);

  const server = new Server(directory, join(programs, "postgres"), settings);
  try {
    await server.start();
    await server.query(`CREATE ROLE ${guest.user} LOGIN PASSWORD '${guest.password}'`);
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  return server;
}

class Server implements PostgresServer {
  readonly directory: string;
  readonly #argv: readonly string[];
  #process: Bun.Subprocess | undefined;
  #databases = 0;

  constructor(directory: string, program: string, settings: Readonly<Record<string, string>>) {
    this.directory = directory;
    const all = { ...forTests, ...settings, listen_addresses: "", unix_socket_directories: directory };
    const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    this.#argv = [program, "-D", join(directory, "data"), ...options];
  }

  async create(): Promise<string> {
    this.#databases += 1;
    const name = `test${this.#databases}`;
    await this.query(`CREATE DATABASE ${name}`);
    return this.#url(name);
  }

  async start(): Promise<void> {
    const log = Bun.file(join(this.directory, "log"));
    this.#process = Bun.spawn([...asNobody, ...this.#argv], { cwd: "/", stdin: "ignore", stdout: log, stderr: log });
    await until(
      () => this.#answers(),
      () => readFileSync(join(this.directory, "log"), "utf8"),
    );
  }

  async stop(): Promise<void> {
    this.#process?.kill("SIGQUIT");
    await this.#process?.exited;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async query(sql: string): Promise<void> {
    const client = new SQL(this.#url("postgres"), { max: 1 });
    try {
      await client.unsafe(sql);
    } finally {
      await client.close({ timeout: 0 });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #answers(): Promise<boolean> {
    if (this.#process?.exitCode !== null) throw new Error(readFileSync(join(this.directory, "log"), "utf8"));
    return await this.query("SELECT 1").then(
      () => true,
      () => false,
    );
  }

  #url(database: string): string {
    return `postgres://${owner}@/${database}?host=${encodeURIComponent(this.directory)}`;
  }
}

/**
 * In memory where there is enough: a database is three hundred files, which take a disk most of a second. The memory of
 * the test run itself is best: of a run that is killed it keeps nothing.
 */
function fastDirectory(): string {
  const memory = "/dev/shm";
  if (unlessRefused(() => statfsSync(tmpdir()).type) === tmpfs) return tmpdir();
  const { bavail, bsize } = unlessRefused(() => statfsSync(memory)) ?? { bavail: 0, bsize: 0 };
  return bavail * bsize > 2 * 1024 ** 3 ? memory : tmpdir();
}

/** Of a file system, in linux/magic.h. */
const tmpfs = 0x01021994;

/** Nothing here has to survive the machine, and many tests share it. */
const forTests = {
  fsync: "off",
  max_connections: "200",
  max_wal_size: "64MB",
  shared_buffers: "32MB",
  dynamic_shared_memory_type: "mmap",
  log_min_messages: "warning",
};

/** The newest version that Debian has put beside the others, or what is on PATH. */
function findPrograms(): string | undefined {
  const found = Bun.which("initdb");
  if (found !== null) return dirname(found);
  const versions = "/usr/lib/postgresql";
  try {
    const [newest] = readdirSync(versions).sort((a, b) => Number(b) - Number(a));
    return newest === undefined ? undefined : join(versions, newest, "bin");
  } catch {
    return undefined;
  }
}

function run(argv: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...asNobody, ...argv], { cwd: "/", stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${argv[0]} failed: ${stderr}`);
}
