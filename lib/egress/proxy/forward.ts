import { request as send, type ClientRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { release } from "../../async/release.ts";
import { errnoOf } from "../../errors.ts";
import { authorization } from "../route/chain.ts";
import { proxyName, type UpstreamProxy } from "../route/upstream.ts";
import { authorityOf } from "../rules/authority.ts";
import { quoted } from "../rules/host.ts";
import { sendAnswer, answerTo, type Answer } from "./answer.ts";
import { dropBody, passBody } from "./body.ts";
import { destinationOf, webPort, type Destination } from "./destination.ts";
import type { Gateway } from "./gateway.ts";
import { endToEnd, listed, without } from "./headers.ts";
import { pour } from "./pour.ts";
import { reach, type OpenFlow } from "./reach.ts";

/** `waits`: the client sends its body only when it is told to go on. */
export type HttpExchange = { request: IncomingMessage; response: ServerResponse; waits: boolean };

/** Origins may send more than clients may. */
const longestHead = 64 * 1024;

/** A request in absolute form (`GET http://host/path`): passed on to its host, and the reply passed back, as they come. */
export async function forward(exchange: HttpExchange, gateway: Gateway): Promise<void> {
  const { request, response, waits } = exchange;
  const client = request.socket;
  const refuse = (words: Answer) => {
    // Nobody knows whether a body comes that was announced, and never asked for.
    sendAnswer(response, { ...words, close: words.close ?? waits });
    dropBody(request);
  };
  client.pause();
  const destination = destinationOf(request);
  if ("reason" in destination) return refuse(destination);

  const stop = (why: string) => {
    if (response.headersSent) client.resetAndDestroy();
    else sendAnswer(response, { status: 504, reason: `given up: ${why}`, close: true });
  };
  const wish = { target: destination.target, via: "http", traffic: "request", client, stop } as const;
  const reached = await reach(wish, gateway);
  if ("kind" in reached) return refuse(answerTo(reached));

  const passing = passOn(exchange, destination, reached);
  let reply: IncomingMessage | undefined;
  passing.once("response", (begun) => {
    reply = begun;
    passBack(begun, exchange, reached);
  });
  passing.on("error", (error) => {
    // What an origin says after its whole reply harms nobody.
    if (!reply?.complete) fail(exchange, `the origin broke off (${errnoOf(error) ?? quoted(error.message)})`);
  });
  const over = () => {
    // The origin hears of it when its reply was not taken.
    if (reply?.complete) reached.socket.destroy();
    else reached.socket.resetAndDestroy();
    passing.destroy();
    dropBody(request);
    gateway.flows.end(reached.flow);
  };
  if (response.closed || client.destroyed) over();
  else response.once("close", over);
}

function passOn(exchange: HttpExchange, { target, path }: Destination, { socket, proxy }: OpenFlow): ClientRequest {
  const { request } = exchange;
  const host = authorityOf(target, webPort);
  // As on the client's side: headers are bytes.
  socket.setDefaultEncoding("latin1");
  const passing = send({
    createConnection: () => socket,
    method: request.method ?? "GET",
    path: proxy === undefined ? path : `http://${host}${path === "*" ? "" : path}`,
    // No Via: what runs behind us is not the origin's to know, and some compress nothing for a proxy.
    headers: [
      "Host",
      host,
      ...without(endToEnd(request.rawHeaders), "host"),
      ...framing(request),
      ...(proxy === undefined ? [] : authorization(proxy)),
      "Connection",
      "close",
    ],
    setHost: false,
    maxHeaderSize: longestHead,
  });
  passing.on("information", ({ statusCode, headers }) => tell(exchange, statusCode, headers));
  passing.on("upgrade", () => fail(exchange, "the origin changed the protocol unasked"));
  // The origin may have something to say before the body comes.
  passing.flushHeaders();
  passBody(request, { to: passing, sink: socket });
  return passing;
}

/** How long the body is. Without a word about it our own client would announce chunks. */
function framing({ method, headers }: IncomingMessage): string[] {
  if (headers["transfer-encoding"] !== undefined) return ["Transfer-Encoding", "chunked"];
  if (headers["content-length"] !== undefined || method === "GET" || method === "HEAD") return [];
  return ["Content-Length", "0"];
}

/** What an origin says before its reply. A client of HTTP/1.0 would take it for the reply. */
function tell({ request, response, waits }: HttpExchange, status: number, headers: IncomingMessage["headers"]): void {
  if (request.httpVersion === "1.0" || response.headersSent) return;
  if (status === 100 && waits) response.writeContinue();
  if (status === 102) response.writeProcessing();
  if (status !== 103 || headers.link === undefined) return;
  try {
    response.writeEarlyHints({ link: headers.link });
  } catch {
    // A hint that is not well-formed is none.
  }
}

function passBack(reply: IncomingMessage, exchange: HttpExchange, { socket, proxy }: OpenFlow): void {
  const { request, response, waits } = exchange;
  const { statusCode = 0, statusMessage = "", rawHeaders, headers } = reply;
  const why = whyNotBack(statusCode, listed(headers["transfer-encoding"]), proxy);
  if (why !== undefined) return fail(exchange, why);

  // A body that was announced and not asked for may come or not: only a new connection is sure where a request begins.
  const closing = waits && !request.complete ? ["Connection", "close"] : [];
  response.sendDate = false;
  response.writeHead(statusCode, statusMessage.replace(/[^\t -~\x80-\xff]/g, ""), [
    ...endToEnd(rawHeaders),
    ...closing,
  ]);
  reply.once("error", () => fail(exchange, "the reply was cut off"));
  // As on the client's side: what was parsed is needed no more.
  socket.on("data", release);
  pour({ from: reply, to: response, sink: request.socket });
}

function whyNotBack(status: number, coding: readonly string[], proxy: UpstreamProxy | undefined): string | undefined {
  if (status < 200) return `the origin answered ${status}, which is no reply`;
  if (coding.length > 0 && coding.join() !== "chunked")
    return "the origin's reply has an unsupported Transfer-Encoding";
  if (status !== 407 || proxy === undefined) return undefined;
  return `the upstream proxy ${proxyName(proxy)} wants other credentials (it answered 407)`;
}

/** A reply that has begun can only be cut off, so that nobody takes it for whole. */
function fail({ request, response }: HttpExchange, reason: string): void {
  if (response.writableEnded) return;
  if (response.headersSent) request.socket.resetAndDestroy();
  else sendAnswer(response, { status: 502, reason });
}
