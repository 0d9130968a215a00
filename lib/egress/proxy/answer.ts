import { STATUS_CODES, type ServerResponse } from "node:http";
import type { RouteFailure } from "../route/route.ts";

/** An answer of the HTTP proxy's own. The reason is one line: the body, and a header for programs. */
export type Answer = { status: number; reason: string; close?: boolean };

const statusByKind = {
  rule: 403,
  full: 503,
  late: 504,
  name: 502,
  refused: 502,
  unreachable: 502,
  "no network": 502,
  broken: 502,
  upstream: 502,
} as const satisfies Record<RouteFailure["kind"], number>;

export function answerTo({ kind, reason }: RouteFailure): Answer {
  return { status: statusByKind[kind], reason };
}

/** Leaves the connection usable, unless the sendAnswer says otherwise. */
export function sendAnswer(response: ServerResponse, { status, reason, close = false }: Answer): void {
  response.writeHead(status, Object.fromEntries(headersOf({ status, reason, close })));
  response.end(`${reason}\n`);
}

/** The answer as bytes, for a connection that is no longer read as HTTP. */
export function rawAnswer({ status, reason }: Answer): string {
  const head = headersOf({ status, reason, close: true }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${head.join("")}\r\n${reason}\n`;
}

const passing = "CONNECT, GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

function headersOf({ status, reason, close }: Required<Answer>): string[][] {
  return [
    ["Content-Type", "text/plain; charset=utf-8"],
    ["Content-Length", String(Buffer.byteLength(reason) + 1)],
    ["X-Koda-Egress", reason],
    ...(status === 405 ? [["Allow", passing]] : []),
    ...(close ? [["Connection", "close"]] : []),
  ];
}
