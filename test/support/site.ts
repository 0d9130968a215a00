import type { Socket } from "node:net";
import type { Upstream } from "../../lib/egress/route/upstream.ts";
import type { Resolver } from "../../lib/egress/rules/resolve.ts";
import type { Network } from "../../lib/config/config.ts";
import { parseRules } from "../../lib/egress/rules/rules.ts";
import type { EgressRequest, WayOut } from "../../lib/egress/wayout.ts";
import { fetchPage, type FetchLimits, type FetchedPage } from "../../lib/tools/web/fetch.ts";
import { parseUrl } from "../../lib/tools/web/url.ts";
import { startOrigin, type Origin } from "./egress.ts";

/** What a site says to a request, byte for byte; a function says it itself. */
export type Answer = string | Buffer | ((socket: Socket, head: string) => void);

export type Site = Origin & { heads: string[]; url(path?: string): string };

/** A web server on loopback that answers by path, and closes after each answer. What it does not know is a 404. */
export async function startSite(
  answers: Record<string, Answer> | ((path: string) => Answer | undefined),
): Promise<Site> {
  const answerTo = typeof answers === "function" ? answers : (path: string) => answers[path];
  const heads: string[] = [];
  const origin = await startOrigin((socket) => {
    let said = "";
    const listen = (chunk: Buffer) => {
      said += chunk.toString("latin1");
      if (!said.includes("\r\n\r\n")) return;
      socket.off("data", listen).resume();
      heads.push(said);
      const answer = answerTo(said.split(" ", 2)[1] ?? "") ?? reply("not here", { status: "404 Not Found" });
      if (typeof answer === "function") answer(socket, said);
      else socket.end(answer);
    };
    socket.on("data", listen).on("end", () => socket.end());
  });
  return { ...origin, heads, url: (path = "/") => `http://127.0.0.1:${origin.port}${path}` };
}

type Head = { status?: string; type?: string; headers?: Record<string, string> };

export function reply(body: string | Uint8Array, { status = "200 OK", type, headers }: Head = {}): Buffer {
  const bytes = Buffer.from(body);
  const lines = Object.entries({
    ...(type !== undefined && { "Content-Type": type }),
    "Content-Length": String(bytes.length),
    ...headers,
  });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${head}\r\n`, "latin1"), bytes]);
}

export const redirect = (location: string, status = "302 Found") =>
  reply("moved", { status, headers: { Location: location } });

type Given = {
  allow?: readonly string[];
  deny?: readonly string[];
  mode?: Network;
  resolver?: Resolver;
  upstream?: Upstream;
};

export type WatchedEgress = WayOut & { requests: EgressRequest[] };

/** Rules that allow the sites by their address; names lead to loopback unless the test says otherwise. */
export function egressTo(sites: readonly { port: number }[], given: Given = {}): WatchedEgress {
  const { allow = [], deny = [], mode = "allowlist", resolver = async () => ["127.0.0.1"], upstream } = given;
  const requests: EgressRequest[] = [];
  const addresses = sites.map(({ port }) => `127.0.0.1:${port}`);
  return {
    rules: parseRules({ mode, allow: [...addresses, ...allow], deny }),
    resolver,
    upstream,
    requests,
    onRequest: (request) => requests.push(request),
  };
}

type Errand = { egress: WayOut; signal?: AbortSignal; limits?: Partial<FetchLimits> };

export async function fetched(text: string, { egress, signal, limits }: Errand): Promise<FetchedPage> {
  const url = parseUrl(text);
  if ("fault" in url) throw new Error(url.fault);
  return fetchPage(url, { egress, signal: signal ?? new AbortController().signal, ...(limits && { limits }) });
}

export type Failed = { message: string; denied: boolean };

/** Why a page cannot be had. */
export async function whyNot(text: string, errand: Errand): Promise<Failed> {
  return fetched(text, errand).then(
    ({ status }) => ({ message: `it came, with ${status}`, denied: false }),
    (error: Failed) => ({ message: error.message, denied: error.denied }),
  );
}
