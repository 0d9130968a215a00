import { connect, type Socket } from "node:net";
import { unlessAborted } from "../../async/unlessaborted.ts";

/** The wait for one address before the next is tried beside it (RFC 8305). */
const staggerMs = 250;

/** An error needs a listener. "close" follows it, and is the event that is acted on. */
export function ignoreError(): void {}

type Endpoints = { addresses: readonly string[]; port: number };

/** Connects to the first of the addresses that answers. Rejects with the reason of the last one that did not. */
export async function dial({ addresses, port }: Endpoints, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  if (addresses.length === 0) throw new Error("there is no address to connect to");
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const waiting = [...addresses];
  const trying = new Set<Socket>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const tryNext = () => {
    clearTimeout(timer);
    const host = waiting.shift();
    if (host === undefined) return;
    // A peer that has sent its end may still expect data from us.
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    trying.add(socket);
    socket.once("connect", () => {
      // This listener keeps nothing of the attempt alive for as long as the connection.
      socket.on("error", ignoreError).off("error", onError);
      resolve(socket);
    });
    const onError = (error: Error) => {
      trying.delete(socket);
      if (waiting.length === 0 && trying.size === 0) reject(error);
      tryNext();
    };
    socket.on("error", onError);
    if (waiting.length > 0) timer = setTimeout(tryNext, staggerMs);
  };

  tryNext();
  try {
    const socket = await unlessAborted(promise, signal);
    trying.delete(socket);
    return socket;
  } finally {
    clearTimeout(timer);
    waiting.length = 0;
    for (const socket of trying) socket.destroy();
  }
}
