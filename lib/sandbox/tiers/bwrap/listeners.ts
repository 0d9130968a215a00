import { closeSync } from "node:fs";
import { receive, type SocketPair, socketPair } from "../../../system/descriptors.ts";
import type { TierOptions } from "../tier.ts";
import { Unavailable } from "../unavailable.ts";

/** How often it is looked whether a command's program has come so far: a few times, it starts in some milliseconds. */
const lookMs = 2;

/** The sockets that a command's program opens in the command's own network: awaited, and held until its end. */
export class Listeners implements Disposable {
  readonly #pair: SocketPair;
  readonly #onSockets: TierOptions["onSockets"];
  #isOver = false;
  #listening: Disposable | undefined;

  constructor(onSockets: TierOptions["onSockets"]) {
    const pair = socketPair();
    if (pair === undefined) throw new Unavailable("no socket could be made");
    this.#pair = pair;
    this.#onSockets = onSockets;
    void this.#wait();
  }

  /** The program's end. */
  get socket(): number {
    return this.#pair.there;
  }

  async #wait(): Promise<void> {
    while (!this.#isOver && !this.#take()) await Bun.sleep(lookMs);
  }

  #take(): boolean {
    const sockets = receive(this.#pair.here)?.descriptors;
    if (sockets === undefined) return false;
    this.#listening = this.#onSockets?.(sockets);
    if (this.#listening === undefined) for (const socket of sockets) closeSync(socket);
    return true;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    // Sockets that came late are closed with the rest.
    if (this.#listening === undefined) this.#take();
    this.#listening?.[Symbol.dispose]();
    closeSync(this.#pair.here);
    closeSync(this.#pair.there);
  }
}
