import type { Socket } from "node:net";

/** How long a client may go on sending after it was refused. */
const patienceMs = 2_000;

/**
 * Ends a connection with these bytes. Anything that the client still sends is read and dropped: closing with bytes
 * unread is a reset, which would discard the answer before the client has read it.
 */
export function endWith(socket: Socket, bytes: string | Uint8Array): void {
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), patienceMs);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
  socket.once("end", () => socket.destroySoon());
  socket.resume();
  socket.end(bytes);
}
