import type { IncomingMessage } from "node:http";
import { unlessAborted } from "../../async/unlessaborted.ts";
import { listed } from "../../egress/proxy/headers.ts";
import { authorization } from "../../egress/route/chain.ts";
import type { Route } from "../../egress/route/route.ts";
import { proxyName } from "../../egress/route/upstream.ts";
import { quoted } from "../../egress/rules/host.ts";
import { errnoOf, messageOf } from "../../errors.ts";
import { FetchFailure } from "./failure.ts";
import { formatUrl, hostOf, type WebUrl } from "./url.ts";

const longestHead = 64 * 1024;

/** Asks for a URL over a connection; the reply's body is still to be read. */
export async function requestPage(
  url: WebUrl,
  { socket, proxy }: Route,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { request } = await import("node:http");
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request({
    createConnection: () => socket,
    path: proxy === undefined ? url.path : formatUrl(url),
    headers: [...headersFor(url), ...(proxy === undefined ? [] : authorization(proxy))],
    setHost: false,
    maxHeaderSize: longestHead,
  });
  sent.once("response", resolve);
  sent.once("upgrade", () => reject(new FetchFailure(`${hostOf(url)} changed the protocol unasked`)));
  sent.on("error", (cause) => reject(new FetchFailure(complaint(url, cause), { cause })));
  sent.end();
  const reply = await unlessAborted(promise, signal);
  const why = whyNot(reply, { socket, proxy });
  if (why !== undefined) throw new FetchFailure(`${hostOf(url)} sent an invalid response: ${why}`);
  return reply;
}

/** No cookies, no credentials, and nothing about this machine. */
function headersFor(url: WebUrl): string[] {
  return Object.entries({
    Host: hostOf(url),
    "User-Agent": "koda",
    Accept: "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5",
    "Accept-Encoding": "gzip, br, deflate",
    Connection: "close",
  }).flat();
}

function complaint(url: WebUrl, error: unknown): string {
  const errno = errnoOf(error);
  if (errno === "HPE_HEADER_OVERFLOW") return `${hostOf(url)} sent headers of more than ${longestHead} bytes`;
  if (errno?.startsWith("HPE_")) return `${hostOf(url)} does not speak HTTP/1.1 there (${errno})`;
  return `${hostOf(url)} closed the connection before it answered (${errno ?? quoted(messageOf(error))})`;
}

function whyNot({ statusCode = 0, headers }: IncomingMessage, { proxy }: Route): string | undefined {
  if (statusCode < 200 || statusCode > 599) return `status ${statusCode} is not a final response`;
  const coding = listed(headers["transfer-encoding"]);
  if (coding.length > 0 && coding.join() !== "chunked") return "its reply has an unsupported Transfer-Encoding";
  if (statusCode !== 407 || proxy === undefined) return undefined;
  return `the upstream proxy ${proxyName(proxy)} wants other credentials (it answered 407)`;
}
