import type { Socket } from "node:net";

/** How long a client may go on sending after it was told no. */
const patienceMs = 2_000;

/**
 * Says the last words on a connection. What the client still sends is read and dropped: closing with bytes unread is a
 * reset, which would take the words away from it before it has read them.
 */
export function farewell(socket: Socket, words: string | Uint8Array): void {
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), patienceMs);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
  socket.once("end", () => socket.destroySoon());
  socket.resume();
  socket.end(words);
}
