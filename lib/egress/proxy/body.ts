import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { release } from "../../async/release.ts";
import { pour } from "./pour.ts";

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
