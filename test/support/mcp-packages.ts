import { fileURLToPath } from "node:url";
import { freePort } from "./peers.ts";
import { spawnIn } from "./run.ts";
import type { Place } from "./place.ts";
import { until } from "./until.ts";

/** The reference servers of the protocol's authors, as npm has them. */
export type PackagedServer = "filesystem" | "memory" | "everything" | "sequential-thinking";

/** The configuration of one over stdio. */
export function packaged(server: PackagedServer, args: readonly string[] = [], more: Record<string, unknown> = {}) {
  return { command: process.execPath, args: [programOf(server), ...args], ...more };
}

/** The server `everything` over HTTP on loopback. */
export async function startEverything(place: Place): Promise<AsyncDisposable & { authority: string; url: string }> {
  const port = await freePort();
  const argv = [process.execPath, programOf("everything"), "streamableHttp"];
  const child = spawnIn(place, argv, { env: { PORT: String(port) } });
  const authority = `127.0.0.1:${port}`;
  const url = `http://${authority}/mcp`;
  const answers = async () => {
    if (child.exitCode !== null) throw new Error(await child.stderr.text());
    return await fetch(url).then(
      () => true,
      () => false,
    );
  };
  await until(answers, `the server of ${url}`);
  return {
    authority,
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

function programOf(server: PackagedServer): string {
  return fileURLToPath(import.meta.resolve(`@modelcontextprotocol/server-${server}/dist/index.js`));
}
