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
import { endToEnd, without } from "./headers.ts";
import { openFlow, type Gateway, type OpenFlow } from "./openflow.ts";
import { pour } from "./pour.ts";

/** `waits`: the client sends its body after a 100 (Continue). */
export type HttpExchange = { request: IncomingMessage; response: ServerResponse; waits: boolean };

/** Origins may send longer heads than clients. */
const longestHead = 64 * 1024;

/** Passes a request in absolute form (`GET http://host/path`) on to its host, and the reply back, as they arrive. */
export async function forward(exchange: HttpExchange, gateway: Gateway): Promise<void> {
  const { request, response, waits } = exchange;
  const client = request.socket;
  const refuse = (answer: Answer) => {
    // A client that waits for a 100 may send the body or not, so the next request could not be told from it.
    sendAnswer(response, { ...answer, close: answer.close ?? waits });
    dropBody(request);
  };
  client.pause();
  const destination = destinationOf(request);
  if ("reason" in destination) return refuse(destination);

  const stop = (why: string) => {
    if (response.headersSent) client.resetAndDestroy();
    else sendAnswer(response, { status: 504, reason: `given up: ${why}`, close: true });
  };
  const { target } = destination;
  const opened = await openFlow({ target, via: "http", traffic: "request", client, stop }, gateway);
  if ("kind" in opened) return refuse(answerTo(opened));

  const passing = passOn(exchange, destination, opened);
  let reply: IncomingMessage | undefined;
  passing.once("response", (response) => {
    reply = response;
    passBack(response, exchange, opened);
  });
  passing.on("error", (error) => {
    // An error after the whole reply changes nothing.
    if (!reply?.complete) fail(exchange, `the origin broke off (${errnoOf(error) ?? quoted(error.message)})`);
  });
  const end = () => {
    // A reset tells the origin that its reply was not taken.
    if (reply?.complete) opened.socket.destroy();
    else opened.socket.resetAndDestroy();
    passing.destroy();
    dropBody(request);
    gateway.flows.end(opened.flow);
  };
  if (response.closed || client.destroyed) end();
  else response.once("close", end);
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
    // No Via: some origins compress nothing for a proxy.
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
  passing.on("information", ({ statusCode, headers }) => passInformation(exchange, statusCode, headers));
  passing.on("upgrade", () => fail(exchange, "the origin changed the protocol unasked"));
  // The origin may answer before the body comes.
  passing.flushHeaders();
  passBody(request, { to: passing, sink: socket });
  return passing;
}

/** Headers about the body's length. Without them our own client would announce chunks. */
function framing({ method, headers }: IncomingMessage): string[] {
  if (headers["transfer-encoding"] !== undefined) return ["Transfer-Encoding", "chunked"];
  if (headers["content-length"] !== undefined || method === "GET" || method === "HEAD") return [];
  return ["Content-Length", "0"];
}

/** Passes a status 1xx back, except to a client of HTTP/1.0, which would take it for the reply. */
function passInformation(
  { request, response, waits }: HttpExchange,
  status: number,
  headers: IncomingMessage["headers"],
): void {
  if (request.httpVersion === "1.0" || response.headersSent) return;
  if (status === 100 && waits) response.writeContinue();
  if (status === 102) response.writeProcessing();
  if (status !== 103 || headers.link === undefined) return;
  try {
    response.writeEarlyHints({ link: headers.link });
  } catch {
    // A hint that is not well-formed is dropped.
  }
}

function passBack(reply: IncomingMessage, exchange: HttpExchange, { socket, proxy }: OpenFlow): void {
  const { request, response, waits } = exchange;
  const { statusCode = 0, statusMessage = "", rawHeaders, headers } = reply;
  const fault = faultOf(statusCode, headers["transfer-encoding"], proxy);
  if (fault !== undefined) return fail(exchange, fault);

  // The client may still send the body or not, so the next request could not be told from it.
  const closing = waits && !request.complete ? ["Connection", "close"] : [];
  response.sendDate = false;
  response.writeHead(statusCode, statusMessage.replace(/[^\t -~\x80-\xff]/g, ""), [
    ...endToEnd(rawHeaders),
    ...closing,
  ]);
  reply.once("error", () => fail(exchange, "the reply was cut off"));
  // As on the client's side: the parser has copied all that it needs.
  socket.on("data", release);
  pour({ from: reply, to: response, sink: request.socket });
}

function faultOf(status: number, coding: string | undefined, proxy: UpstreamProxy | undefined): string | undefined {
  if (status < 200) return `the origin answered ${status}, which is not a final status`;
  if (coding !== undefined && coding.trim().toLowerCase() !== "chunked")
    return "the origin's reply has an unsupported Transfer-Encoding";
  if (status !== 407 || proxy === undefined) return undefined;
  return `the upstream proxy ${proxyName(proxy)} wants other credentials (it answered 407)`;
}

/** A reply that has begun can only be reset, so that it is not taken for complete. */
function fail({ request, response }: HttpExchange, reason: string): void {
  if (response.writableEnded) return;
  if (response.headersSent) request.socket.resetAndDestroy();
  else sendAnswer(response, { status: 502, reason });
}
