import { test } from "bun:test";
import { homedir } from "node:os";
import { join } from "node:path";
import { certificateVariables, proxyVariables } from "../../lib/egress/env.ts";
import { openProxies, type Opened } from "./egress.ts";
import { makePlace, type Place } from "./place.ts";

/** Allowed, and this machine; only the proxies know its name. */
export const host = "registry.test";
/** The same machine, by a name that no rule allows. */
export const refusedHost = "refused.test";

/** Servers of the test's own behind the proxies, and an environment in which programs find these. */
export type World = AsyncDisposable & {
  place: Place;
  http: string;
  https: string;
  /** The addresses of the same servers under the name that is refused. */
  refusedHttp: string;
  refusedHttps: string;
  /** The authority that signed the server's certificate. */
  caFile: string;
  opened: Opened;
  run(argv: readonly string[], options?: { cwd?: string; env?: Record<string, string> }): Promise<Ran>;
};

export type Ran = { exit: number | null; stdout: string; stderr: string };
export type Serve = (request: Request) => Response | Promise<Response>;

export async function openWorld(serve: Serve): Promise<World> {
  await using held = new AsyncDisposableStack();
  const place = held.use(makePlace());
  const { key, cert, caFile } = makeCertificate(place);
  const options = { hostname: "127.0.0.1", port: 0, fetch: serve, idleTimeout: 0 } as const;
  const plain = held.use(Bun.serve(options));
  const secure = held.use(Bun.serve({ ...options, tls: { key: Bun.file(key), cert: Bun.file(cert) } }));
  const [httpPort = 0, httpsPort = 0] = [plain.port, secure.port];
  const allow = [httpPort, httpsPort].map((port) => `${host}:${port}`);
  const opened = held.use(await openProxies([httpPort, httpsPort], { allow }));

  const listener = (port: number) => ({ host: "127.0.0.1", port });
  const { httpPort: http, socksPort: socks } = opened.proxies;
  const variables = {
    ...certificateVariables(caFile),
    ...proxyVariables({ http: listener(http), socks: listener(socks) }),
  };
  const everything = held.move();
  return {
    place,
    http: `http://${host}:${httpPort}`,
    https: `https://${host}:${httpsPort}`,
    refusedHttp: `http://${refusedHost}:${httpPort}`,
    refusedHttps: `https://${refusedHost}:${httpsPort}`,
    caFile,
    opened,
    run: async (argv, { cwd = place.project, env = {} } = {}) =>
      await run(argv, { cwd, env: { ...place.env, ...surroundings(), ...variables, ...env } }),
    [Symbol.asyncDispose]: async () => await everything.disposeAsync(),
  };
}

/** A program as a user has it, where it is there and starts; else its tests are skipped, and say so. */
export function testWith(program: string, ...probe: string[]): ReturnType<typeof test.skipIf> {
  const isThere = starts(program, probe);
  if (!isThere) console.error(`skipped: tests that need ${[program, ...probe].join(" ")}`);
  return test.skipIf(!isThere);
}

function starts(program: string, probe: readonly string[]): boolean {
  if (Bun.which(program) === null) return false;
  const argv = [program, ...(probe.length === 0 ? ["--version"] : probe)];
  const { exitCode } = Bun.spawnSync(argv, { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  return exitCode === 0;
}

async function run(argv: readonly string[], options: { cwd: string; env: Record<string, string> }): Promise<Ran> {
  const child = Bun.spawn([...argv], { ...options, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { exit: child.exitCode, stdout, stderr };
}

/**
 * Where version managers of languages keep what they run, which they look for in the home that a test does not have;
 * and nothing of what this machine has decided for all its users.
 */
function surroundings(): Record<string, string> {
  return {
    npm_config_globalconfig: "/dev/null",
    PIP_CONFIG_FILE: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    PYENV_ROOT: process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"),
    RUSTUP_HOME: process.env.RUSTUP_HOME ?? join(homedir(), ".rustup"),
  };
}

/** An authority, and a certificate of its for both names. */
function makeCertificate(place: Place): { key: string; cert: string; caFile: string } {
  const path = (name: string) => join(place.home, name);
  const [caKey, caFile, key, cert] = [path("ca.key"), path("ca.pem"), path("server.key"), path("server.pem")];
  const common = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  openssl([...common, "-keyout", caKey, "-out", caFile, "-subj", "/CN=An authority for a test"]);
  const signed = ["-CA", caFile, "-CAkey", caKey, "-subj", `/CN=${host}`];
  const about = [`subjectAltName=DNS:${host},DNS:${refusedHost}`, "basicConstraints=critical,CA:FALSE"];
  openssl([...common, ...signed, ...about.flatMap((text) => ["-addext", text]), "-keyout", key, "-out", cert]);
  return { key, cert, caFile };
}

function openssl(args: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args], { stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`openssl ${args[0]} failed: ${stderr.toString()}`);
}
