import { createServer as createHttpServer } from "node:http";
import { createServer, Socket, type Server } from "node:net";
import { errnoOf } from "../../errors.ts";
import { ignoreError } from "../route/dial.ts";
import { rawAnswer, type Answer } from "./answer.ts";
import { ambiguityOf } from "./body.ts";
import { Clients } from "./clients.ts";
import { connectTunnel } from "./connect.ts";
import { endWith } from "./endwith.ts";
import type { ProxyLimits } from "./flows.ts";
import { forward, type HttpExchange } from "./forward.ts";
import type { Admission, Gateway } from "./openflow.ts";

/** The HTTP proxy. Each request on a connection is judged by itself, whatever was decided before. */
export function createHttpProxy(gateway: Gateway, admits: Admission): Server {
  const { limits } = gateway;
  // `clients` keeps the time limits: this server accepts no connection itself, and so has no clock.
  const http = createHttpServer({ maxHeaderSize: limits.headBytes, requestTimeout: 0, keepAliveTimeout: 0 });
  const clients = new Clients(limits, (client) => sendAway(client, tooLate(limits)));
  const sendAway = (client: Socket, answer: Answer) => {
    // The answer would land in the middle of the answer to an earlier request.
    if (clients.isWaitingForAnswer(client)) return client.destroy();
    clients.leave(client);
    endWith(client, rawAnswer(answer));
  };

  const begin = (exchange: HttpExchange) => {
    const { socket } = exchange.request;
    if (!clients.has(socket)) return;
    const ambiguity = ambiguityOf(exchange.request);
    if (ambiguity !== undefined) return sendAway(socket, ambiguity);
    clients.asked(socket);
    exchange.response.once("close", () => clients.answered(socket));
    // An error on one connection ends that connection, and not the session.
    forward(exchange, gateway).catch(() => socket.destroy());
  };
  http.on("request", (request, response) => begin({ request, response, waits: false }));
  http.on("checkContinue", (request, response) => begin({ request, response, waits: true }));

  http.on("connect", (request, client, early) => {
    if (!(client instanceof Socket)) return client.destroy();
    if (!clients.has(client)) return;
    // An answer about the tunnel would land in the middle of the answer to an earlier request.
    if (clients.isWaitingForAnswer(client)) return client.resetAndDestroy();
    clients.leave(client);
    connectTunnel({ authority: request.url ?? "", client, early }, gateway).catch(() => client.destroy());
  });

  http.on("clientError", (error, client) => {
    if (!(client instanceof Socket) || !client.writable) return client.destroy();
    if (clients.has(client)) sendAway(client, complaint(error, limits));
  });

  // Connections are accepted here and handed over: a socket of Bun's own HTTP server reports a reset as an orderly end.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    client.on("error", ignoreError);
    if (!admits(client)) return endWith(client, rawAnswer(stranger));
    // Headers are bytes; on a socket that is handed over they would be written as UTF-8.
    client.setDefaultEncoding("latin1");
    clients.arrive(client);
    http.emit("connection", client);
  });
  server.maxConnections = limits.clients;
  return server;
}

const stranger: Answer = { status: 403, reason: "this proxy is for the processes of another user" };

function tooLate({ headMs }: ProxyLimits): Answer {
  return { status: 408, reason: `the head of the request did not come within ${headMs / 1000} s` };
}

function complaint(error: Error, { headBytes }: ProxyLimits): Answer {
  switch (errnoOf(error)) {
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, reason: `the head of the request is longer than ${headBytes} bytes` };
    case "HPE_INVALID_METHOD":
      return startsLikeRequest(error)
        ? { status: 405, reason: "this method is not known here" }
        : { status: 400, reason: "this is not HTTP" };
    default:
      return { status: 400, reason: "the request is not well-formed HTTP/1.1" };
  }
}

function startsLikeRequest(error: Error): boolean {
  const packet = "rawPacket" in error && error.rawPacket instanceof Uint8Array ? error.rawPacket : new Uint8Array();
  return /^[A-Z][A-Z-]* \S+ HTTP\/1\.[01]\r\n/.test(Buffer.from(packet).toString("latin1", 0, 1024));
}
