import { closeSync } from "node:fs";
import { KodaError } from "../../errors.ts";
import { socketPair, type SocketPair } from "../../system/descriptors.ts";
import { workerUrl } from "./built.ts";
import { needCalls, shutDown } from "./calls.ts";
import type { ConnectRules, Refusal } from "./rules.ts";
import type { News, Task } from "./worker.ts";

/**
 * Answers every connect() of the commands of a session, and every listen() where the filter asks about that, in a thread
 * of its own: it decides by the rules, and connects the command's socket itself, to its own copy of the address. A command's program installs the filter, sends the
 * listener that it got for it over the socket, and closes its end before it becomes the command.
 *
 * The other side of a unix socket sees koda's process, not the command's, as the one that connected or listens.
 */
export class Supervisor implements Disposable {
  /** The commands' end: given to each command's program as an extra descriptor. */
  readonly socket: number;
  /** Settles when the thread runs. Until then a connect() waits. */
  readonly ready: Promise<void>;
  readonly #here: number;
  readonly #beginning: NodeJS.Immediate;
  #worker: Worker | undefined;
  #isOpen = true;

  static start(rules: ConnectRules, onRefusal: (refusal: Refusal) => void): Supervisor {
    needCalls();
    const pair = socketPair();
    if (pair === undefined)
      throw new KodaError("sandbox", "Cannot watch over what commands connect to: the system gives koda no socket");
    return new Supervisor(pair, { rules, onRefusal });
  }

  private constructor({ here, there }: SocketPair, options: SupervisorOptions) {
    this.#here = here;
    this.socket = there;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    // Making a thread takes a while, in which whoever asked for it can start a command already.
    this.#beginning = setImmediate(() => this.#begin(options, { resolve, reject }));
  }

  #begin({ rules, onRefusal }: SupervisorOptions, { resolve, reject }: Readiness): void {
    this.#worker = new Worker(workerUrl, { env: {}, ref: false });
    this.#worker.addEventListener("message", ({ data }: MessageEvent<News>) => {
      switch (data.kind) {
        case "ready":
          return resolve();
        case "refusal":
          return onRefusal(data.refusal);
        case "ended":
          return this.#close();
        default:
          return data satisfies never;
      }
    });
    this.#worker.addEventListener("error", ({ message }) => {
      reject(new KodaError("sandbox", `Cannot watch over what commands connect to: ${message}`));
      this.#close();
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
    this.#worker.postMessage({ socket: this.#here, rules } satisfies Task);
  }

  /** The thread notices, closes what it has and says so; a connect() that still waits then fails. */
  [Symbol.dispose](): void {
    clearImmediate(this.#beginning);
    if (this.#worker === undefined) this.#close();
    else if (this.#isOpen) shutDown(this.#here);
  }

  /** Only when the thread uses them no more: their numbers may be another file's at once. */
  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.#here);
    closeSync(this.socket);
    this.#worker?.terminate();
  }
}

type SupervisorOptions = { rules: ConnectRules; onRefusal: (refusal: Refusal) => void };
type Readiness = { resolve(): void; reject(error: KodaError): void };
