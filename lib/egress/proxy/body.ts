import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { release } from "../../async/release.ts";
import type { Answer } from "./answer.ts";
import { pour } from "./pour.ts";

/** The answer to a request whose body could end at one place for us and at another for its origin. */
export function ambiguityOf({ headers, httpVersion }: IncomingMessage): Answer | undefined {
  const coding = headers["transfer-encoding"]?.trim().toLowerCase();
  if (coding === undefined) return undefined;
  if (httpVersion === "1.0") return { status: 400, reason: "HTTP/1.0 has no Transfer-Encoding; send a Content-Length" };
  if (headers["content-length"] !== undefined)
    return { status: 400, reason: "the request has a Content-Length and a Transfer-Encoding; send one of them" };
  if (coding === "") return { status: 400, reason: 'the Transfer-Encoding is empty; send "chunked"' };
  if (coding === "chunked") return undefined;
  return { status: 501, reason: 'the only Transfer-Encoding that passes is "chunked"' };
}

/**
 * Passes a request's body on. The connection itself is paused: Bun's HTTP server reads on from one that was handed to
 * it, however much of the body waits already.
 */
export function passBody(request: IncomingMessage, { to, sink }: { to: ClientRequest; sink: Socket }): void {
  const client = request.socket;
  // This listener runs after the parser, which has copied all that it needs.
  client.on("data", release);
  request.once("end", () => client.off("data", release));
  pour({ from: request, to, sink, brake: client });
}

/** Reads and drops the rest of a body, so that the next request on the connection is found behind it. */
export function dropBody(request: IncomingMessage): void {
  request.socket.off("data", release);
  request.resume();
  request.socket.resume();
}
