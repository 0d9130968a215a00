import type { ClientRequest, IncomingMessage } from "node:http";

/**
 * Passes a request's body on at the pace at which it is taken. The connection itself is held back: Bun's HTTP server
 * reads on from one that it was handed, however much of the body waits already.
 */
export function passBody(request: IncomingMessage, to: ClientRequest): void {
  const client = request.socket;
  request.on("data", (chunk: Buffer) => {
    // After an early reply the rest of the body is nobody's.
    if (!to.destroyed && !to.write(chunk)) client.pause();
  });
  request.once("end", () => to.end());
  to.on("drain", () => client.resume());
  client.resume();
}

/** Reads the rest of a body away, so that the next request on the connection is found behind it. */
export function dropBody(request: IncomingMessage): void {
  request.resume();
  request.socket.resume();
}
