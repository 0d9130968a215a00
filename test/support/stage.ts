import type { Socket } from "node:net";
import { answered, dialProxy, readReply, type Reply, type Way } from "./egress.ts";

/** Nobody listens there. */
export const deadPort = 1;
/** What a SOCKS5 proxy says to the greeting. */
const methodLength = 2;

/** `early`: sent in the same breath as the request. */
type Manner = { early?: Buffer; isByteByByte?: boolean };

/** One proxy, and what a case opens through it. */
export class Stage implements Disposable {
  readonly way: Way;
  readonly #ports: { proxy: number; origin: number };
  readonly #sockets: Socket[] = [];
  #serve: (socket: Socket) => void = (socket) => socket.destroy();

  constructor(way: Way, ports: { proxy: number; origin: number }) {
    this.way = way;
    this.#ports = ports;
  }

  /** A tunnel to a server that does this. */
  async open(serve: (socket: Socket) => void, manner: Manner = {}): Promise<Socket> {
    this.#serve = serve;
    const { said, socket } = await this.#wish("127.0.0.1", this.#ports.origin, manner);
    if (!this.way.isYes(said)) throw new Error(`the answer is "${answered(this.way, said)}"`);
    return socket;
  }

  /** The number with which the proxy answers the wish for a host where nobody listens. */
  async numberFor(host: string): Promise<string> {
    const { said } = await this.#wish(host, deadPort, {});
    return answered(this.way, said);
  }

  serve(socket: Socket): void {
    this.#sockets.push(socket);
    this.#serve(socket);
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #wish(host: string, port: number, manner: Manner): Promise<Reply> {
    const socket = dialProxy(this.#ports.proxy);
    this.#sockets.push(socket);
    return await converse(this.way, socket, sayings(this.way.hello(host, port), manner));
  }
}

/** What is said at a time: not every proxy reads ahead, and so each answer is waited for. */
function sayings(hello: readonly Buffer[], { early, isByteByByte = false }: Manner): Buffer[][] {
  const last = hello.length - 1;
  return hello.map((part, index) => {
    if (isByteByByte) return [...part].map((byte) => Buffer.of(byte));
    return [index === last && early !== undefined ? Buffer.concat([part, early]) : part];
  });
}

async function converse(way: Way, socket: Socket, parts: readonly Buffer[][]): Promise<Reply> {
  for (const [index, pieces] of parts.entries()) {
    if (index > 0) socket.unshift(await readSome(socket, methodLength));
    for (const piece of pieces) {
      await new Promise<unknown>((written) => socket.write(piece, written));
      // One turn of the loop, so that each is a segment of its own.
      await Bun.sleep(0);
    }
  }
  const said = readReply(way, socket);
  socket.resume();
  return { said: await said, socket };
}

/** As much as that, from a side that says no more for now. */
export async function readSome(socket: Socket, length: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let missing = length;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const take = (chunk: Buffer) => {
    chunks.push(chunk);
    missing -= chunk.length;
    if (missing <= 0) resolve();
  };
  const leave = () => reject(new Error(`${missing} bytes of ${length} did not come`));
  socket.on("data", take).once("end", leave).once("close", leave).resume();
  await promise;
  socket.off("data", take).off("end", leave).off("close", leave).pause();
  return Buffer.concat(chunks);
}
