import { request as send, type ClientRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { errnoOf } from "../errors.ts";
import { answer, answerTo, type Answer } from "./answer.ts";
import { authorityOf } from "./authority.ts";
import { authorization } from "./chain.ts";
import type { Gateway } from "./gateway.ts";
import { endToEnd, listed, without } from "./headers.ts";
import { parseAuthority, quoted, type Target } from "./host.ts";
import { reach, type Reached } from "./reach.ts";

/** `waits`: the client sends its body only when it is told to go on. */
export type Exchange = { request: IncomingMessage; response: ServerResponse; waits: boolean };

type Destination = { target: Target; path: string };

const webPort = 80;
/** Origins may send more than clients may. */
const longestHead = 64 * 1024;

/** A request in absolute form (`GET http://host/path`): passed on to its host, and the reply passed back, as they come. */
export async function forward(exchange: Exchange, gateway: Gateway): Promise<void> {
  const { request, response, waits } = exchange;
  // Nobody knows whether a body comes that was announced, and never asked for.
  const refuse = (words: Answer) => answer(response, { ...words, close: waits });
  const destination = destinationOf(request);
  if ("reason" in destination) return refuse(destination);

  const stop = (why: string) => {
    if (response.headersSent) request.socket.destroy();
    else answer(response, { status: 504, reason: `given up: ${why}`, close: true });
  };
  const wish = { target: destination.target, via: "http", wire: "request", client: request.socket, stop } as const;
  const reached = await reach(wish, gateway);
  if ("kind" in reached) return refuse(answerTo(reached));

  const passing = passOn(exchange, destination, reached);
  let reply: IncomingMessage | undefined;
  passing.once("response", (begun) => (reply = begun));
  const over = () => {
    // The origin hears of it when its reply was not taken.
    if (reply?.complete) reached.socket.destroy();
    else reached.socket.resetAndDestroy();
    passing.destroy();
    gateway.flows.end(reached.flow);
  };
  if (response.closed || request.socket.destroyed) over();
  else response.once("close", over);
}

function destinationOf({ method, url = "", headers, httpVersion }: IncomingMessage): Destination | Answer {
  if (method === "TRACE")
    return { status: 405, reason: "TRACE would show what the proxy was told; use another method" };
  const coding = listed(headers["transfer-encoding"]);
  if (coding.length > 0 && httpVersion === "1.0") {
    return { status: 400, reason: "HTTP/1.0 has no Transfer-Encoding; send a Content-Length", close: true };
  }
  if (coding.length > 1)
    return { status: 501, reason: `Transfer-Encoding ${quoted(coding.join(", "))}: expected is "chunked"` };
  if (listed(headers.upgrade).includes("websocket")) {
    return { status: 501, reason: "a WebSocket passes this proxy through CONNECT only" };
  }

  const [, scheme, authority = "", rest = ""] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^#]*)$/i.exec(url) ?? [];
  if (scheme === undefined) {
    return { status: 400, reason: `this is a proxy: expected is a whole URL (http://host/path), not ${quoted(url)}` };
  }
  if (scheme.toLowerCase() !== "http") {
    return { status: 400, reason: `${quoted(scheme)} does not pass as a plain request; open a tunnel with CONNECT` };
  }
  // Two readers may disagree where such an authority ends, and the part before the host is often a password.
  if (authority.includes("@")) {
    return { status: 400, reason: "the URL carries credentials; send them in the header Authorization" };
  }
  const target = parseAuthority(authority, webPort);
  if ("fault" in target) return { status: 400, reason: target.fault };
  return { target, path: pathOf(rest, method) };
}

function pathOf(rest: string, method: string | undefined): string {
  if (rest === "") return method === "OPTIONS" ? "*" : "/";
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function passOn(exchange: Exchange, { target, path }: Destination, { socket, proxy }: Reached): ClientRequest {
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
  passing.on("response", (reply) => passBack(reply, exchange));
  passing.on("upgrade", () => fail(exchange, `${host} changed the protocol unasked`));
  passing.on("error", (error) => fail(exchange, `${host} broke off (${errnoOf(error) ?? quoted(error.message)})`));
  // The origin may have something to say before the body comes.
  passing.flushHeaders();
  request.pipe(passing);
  return passing;
}

/** How long the body is. Without a word about it our own client would announce chunks. */
function framing({ method, headers }: IncomingMessage): string[] {
  if (headers["transfer-encoding"] !== undefined) return ["Transfer-Encoding", "chunked"];
  if (headers["content-length"] !== undefined || method === "GET" || method === "HEAD") return [];
  return ["Content-Length", "0"];
}

/** What an origin says before its reply. A client of HTTP/1.0 would take it for the reply. */
function tell({ request, response, waits }: Exchange, status: number, headers: IncomingMessage["headers"]): void {
  if (request.httpVersion === "1.0" || response.headersSent) return;
  if (status === 100 && waits) response.writeContinue();
  if (status === 102) response.writeProcessing();
  if (status === 103 && headers.link !== undefined) response.writeEarlyHints({ link: headers.link });
}

function passBack(reply: IncomingMessage, exchange: Exchange): void {
  const { request, response, waits } = exchange;
  const coding = listed(reply.headers["transfer-encoding"]);
  if (coding.length > 0 && coding.join() !== "chunked") {
    reply.destroy();
    return fail(exchange, `the reply has the Transfer-Encoding ${quoted(coding.join(", "))}`);
  }
  // A body that was announced and not asked for may come or not: only a new connection is sure where a request begins.
  const closing = waits && !request.complete ? ["Connection", "close"] : [];
  response.sendDate = false;
  response.writeHead(reply.statusCode ?? 502, reply.statusMessage ?? "", [...endToEnd(reply.rawHeaders), ...closing]);
  reply.once("error", () => fail(exchange, "the reply was cut off"));
  reply.pipe(response);
}

/** A reply that has begun can only be cut off, so that nobody takes it for whole. */
function fail({ request, response }: Exchange, reason: string): void {
  if (response.headersSent) {
    if (!response.writableFinished) request.socket.resetAndDestroy();
    return;
  }
  request.unpipe();
  request.resume();
  answer(response, { status: 502, reason });
}
