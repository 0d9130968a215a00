import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ports } from "./egress.ts";
import { binary } from "./koda.ts";

export type ProxyProcess = AsyncDisposable & Ports & { pid: number };

/** The compiled `koda proxy`, which lets everybody go to these hosts. */
export async function startProxyProcess(...allow: string[]): Promise<ProxyProcess> {
  const home = mkdtempSync(join(tmpdir(), "koda-test-"));
  const child = Bun.spawn([binary, "proxy", "--json", ...allow.flatMap((host) => ["--allow-net", host])], {
    env: { HOME: home, PATH: process.env["PATH"] ?? "" },
    cwd: home,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const said = JSON.parse(await firstLine(child.stdout)) as { http_port: number; socks_port: number };
  return {
    pid: child.pid,
    httpPort: said.http_port,
    socksPort: said.socks_port,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes("\n")) break;
  }
  return text.slice(0, text.indexOf("\n"));
}

/** In MB: what a process holds now, or the most that it ever held. */
export function memoryOf(pid: number, field: "VmRSS" | "VmHWM" | "RssAnon" = "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? Number.NaN) / 1000;
}
