import { fileURLToPath } from "node:url";
import { freePort } from "./peers.ts";
import { type Running, spawnIn } from "./run.ts";
import type { Place } from "./place.ts";
import { until } from "./until.ts";

/** The reference servers of the protocol's authors, as npm has them. */
export type PackagedServer = "filesystem" | "memory" | "everything" | "sequential-thinking";

/** The configuration of one over stdio; a run waits for it, however long it takes to start. */
export function packaged(server: PackagedServer, args: readonly string[] = [], more: Record<string, unknown> = {}) {
  return { command: process.execPath, args: [programOf(server), ...args], required: true, ...more };
}

/** The server `everything` over HTTP on loopback. */
export async function startEverything(place: Place): Promise<HttpServer> {
  const port = await freePort();
  const argv = [process.execPath, programOf("everything"), "streamableHttp"];
  const child = spawnIn(place, argv, { env: { PORT: String(port) } });
  const server = serverAt(port, child);
  const answers = async () => {
    if (child.exitCode !== null) throw new Error(await child.stderr.text());
    return await fetch(server.url).then(
      () => true,
      () => false,
    );
  };
  await until(answers, `the server of ${server.url}`);
  return server;
}

const modernProgram = fileURLToPath(import.meta.resolve("./mcp-modern-program.ts"));

/** The configuration of a server that has no handshake of 2025. */
export const modern = () => ({ command: process.execPath, args: [modernProgram], required: true });

/** The same over HTTP on loopback. */
export async function startModern(place: Place): Promise<HttpServer> {
  const child = spawnIn(place, [process.execPath, modernProgram, "http"]);
  const { value } = await child.stdout.getReader().read();
  return serverAt(Number(new TextDecoder().decode(value)), child);
}

type HttpServer = AsyncDisposable & { url: string };

function serverAt(port: number, child: Running): HttpServer {
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

function programOf(server: PackagedServer): string {
  return fileURLToPath(import.meta.resolve(`@modelcontextprotocol/server-${server}/dist/index.js`));
}
