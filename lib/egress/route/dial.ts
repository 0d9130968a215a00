import { connect, type Socket } from "node:net";
import { unlessAborted } from "../../async/unlessaborted.ts";

/** How long an address is waited for alone before the next one is tried beside it (RFC 8305). */
const staggerMs = 250;

/** "close" follows every error. */
function ignored(): void {}

export type DialAddress = { addresses: readonly string[]; port: number };

/** Connects to the first of the addresses that answers. Rejects with the reason of the last one that did not. */
export async function dial({ addresses, port }: DialAddress, signal: AbortSignal): Promise<Socket> {
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
    // A peer that has said its end may still want to hear ours.
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    trying.add(socket);
    socket.once("connect", () => {
      // An error must always have a listener; this one holds nothing of the attempt for as long as the connection lives.
      socket.on("error", ignored).off("error", onError);
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
