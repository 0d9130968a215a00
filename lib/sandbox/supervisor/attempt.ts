import { constants } from "node:os";
import { bind, connect } from "./calls.ts";
import type { Call } from "./notification.ts";
import type { Socket } from "./socket.ts";

const { EAGAIN, EALREADY, EINPROGRESS, EISCONN } = constants.errno;

type AttemptOptions = {
  socket: Socket;
  address: Uint8Array;
  from?: Uint8Array | undefined;
  /** Asked once it is connected: a negative errno keeps it from the command. */
  refusal?: (() => number) | undefined;
  holds: DisposableStack;
};

/** A connection that is being made for a command. */
export class Attempt implements Disposable {
  readonly call: Call;
  readonly #socket: Socket;
  readonly #address: Uint8Array;
  readonly #from: Uint8Array | undefined;
  readonly #refusal: (() => number) | undefined;
  /** Held until it is over: the socket, and the file that the address names by its descriptor. */
  readonly #holds: DisposableStack;
  #tries = 0;
  /** The next try waits for an answer from the other side, or for a while, in which its queue may get room. */
  #waitsFor: "answer" | "while" = "answer";

  constructor(call: Call, { socket, address, from, refusal, holds }: AttemptOptions) {
    this.call = call;
    this.#socket = socket;
    this.#address = address;
    this.#from = from;
    this.#refusal = refusal;
    this.#holds = holds;
  }

  /** The descriptor whose readiness to be written tells that there is an answer; undefined when nothing tells. */
  get writable(): number | undefined {
    return this.#waitsFor === "answer" ? this.#socket.descriptor : undefined;
  }

  /**
   * Connects; the result for the command, or undefined when that is not known yet. A second connect() of a socket that
   * has its answer is how the kernel completes the first one.
   */
  try(): number | undefined {
    const isFirst = this.#tries++ === 0;
    // A socket that the command itself gave an address keeps that one.
    if (isFirst && this.#from !== undefined) bind(this.#socket.descriptor, this.#from);
    const result = connect(this.#socket.descriptor, this.#address);
    if (result === 0 || (result === -EISCONN && !isFirst)) return this.#refusal?.() || this.#socket.deliver();
    if (!this.#socket.waits) return result;
    const isOnItsWay = result === -EINPROGRESS || result === -EALREADY;
    if (!isOnItsWay && result !== -EAGAIN) return result;
    // The second time its readiness told nothing: from then on it is asked now and then, and not without pause.
    this.#waitsFor = isOnItsWay && isFirst ? "answer" : "while";
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#holds.dispose();
  }
}
