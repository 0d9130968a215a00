import type { IncomingMessage } from "node:http";
import { readAuthority } from "../rules/authority.ts";
import { quoted, type HostPort } from "../rules/host.ts";
import type { Answer } from "./answer.ts";
import { listed } from "./headers.ts";

export type Destination = { target: HostPort; path: string };

export const webPort = 80;

/** The destination of a request, or the answer to a bad one. */
export function destinationOf({ method, url = "", headers }: IncomingMessage): Destination | Answer {
  if (method === "TRACE") return { status: 405, reason: "TRACE does not pass this proxy; use another method" };
  if (listed(headers.upgrade).includes("websocket")) {
    return { status: 501, reason: "a WebSocket passes this proxy through CONNECT only" };
  }

  const [, scheme, authority = "", rest = ""] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^#]*)$/i.exec(url) ?? [];
  if (scheme === undefined) {
    return { status: 400, reason: "this is a proxy: expected an absolute URL (http://host/path) after the method" };
  }
  if (scheme.toLowerCase() !== "http") {
    return { status: 400, reason: `${quoted(scheme)} does not pass as a plain request; open a tunnel with CONNECT` };
  }
  const target = readAuthority(authority, webPort);
  if ("fault" in target) return { status: 400, reason: target.fault };
  return { target, path: pathOf(rest, method) };
}

function pathOf(rest: string, method: string | undefined): string {
  if (rest === "") return method === "OPTIONS" ? "*" : "/";
  return rest.startsWith("/") ? rest : `/${rest}`;
}
