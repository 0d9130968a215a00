import { closeSync, writeSync } from "node:fs";
import { KodaError, messageOf } from "../../errors.ts";
import { socketPair, type SocketPair } from "../../system/descriptors.ts";
import { Recent } from "../recent.ts";
import { workerUrl } from "./built.ts";
import { needCalls, shutDown } from "./calls.ts";
import type { ConnectRules, Refusal } from "./rules.ts";
import type { RuledSocket } from "./watch.ts";
import type { FromThread, ToThread } from "./worker.ts";

/** How many sets of rules are kept; an older one is made again when it is asked for. */
const mostRules = 32;

/**
 * Answers every connect() of the commands of a session, and every listen() where the filter asks about that, in a
 * thread of its own: it decides by the rules, and connects the command's socket itself, to its own copy of the address.
 * A command's program installs the filter, sends the listener that it got for it over the socket, and closes its end
 * before it becomes the command. Each set of rules has a socket of its own, so the socket alone says which rules hold:
 * nothing that is sent through it could name others.
 *
 * The other side of a unix socket sees koda's process, not the command's, as the one that connected or listens.
 */
export class Supervisor implements Disposable {
  readonly #onRefusal: (refusal: Refusal) => void;
  /** Their numbers stay taken until the thread uses them no more, those of retired ones too. */
  readonly #pairs = new Recent<ConnectRules, SocketPair>(mostRules, (pair) => this.#retire(pair));
  readonly #retired = new Set<number>();
  #control: SocketPair | undefined;
  #beginning: NodeJS.Immediate | undefined;
  #worker: Worker | undefined;
  #failure: KodaError | undefined;
  #isOpen = true;

  constructor(onRefusal: (refusal: Refusal) => void) {
    this.#onRefusal = onRefusal;
  }

  /**
   * The commands' end for these rules: given to a command's program as an extra descriptor. The first one begins the
   * thread; until it runs a connect() waits.
   */
  socketFor(rules: ConnectRules): number {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#pairs.get(rules, () => this.#open(rules)).there;
  }

  #open(rules: ConnectRules): SocketPair {
    if (this.#control === undefined) {
      needCalls();
      this.#control = openPair();
      // Making a thread takes a while, in which the caller can start a command already.
      this.#beginning = setImmediate(() => this.#begin());
    }
    const pair = openPair();
    if (this.#worker !== undefined) this.#hand({ socket: pair.here, rules });
    return pair;
  }

  #begin(): void {
    const control = this.#control;
    if (control === undefined) return;
    try {
      this.#worker = new Worker(workerUrl, { env: {}, ref: false });
    } catch (error) {
      // Nothing would answer, so a command that waits for an answer has to see that its socket is closed.
      return this.#close(cannotSupervise(messageOf(error)));
    }
    this.#worker.addEventListener("message", ({ data }: MessageEvent<FromThread>) => this.#hear(data));
    this.#worker.addEventListener("error", ({ message }) => this.#close(cannotSupervise(message)));
    this.#send({ control: control.there });
    for (const [rules, { here }] of this.#pairs.entries()) this.#hand({ socket: here, rules });
  }

  #hear(message: FromThread): void {
    switch (message.kind) {
      case "refusal":
        return this.#onRefusal(message.refusal);
      case "abandoned":
        if (this.#retired.delete(message.socket)) closeSync(message.socket);
        return;
      case "ended":
        return this.#close(cannotSupervise("it has ended"));
      default:
        return message satisfies never;
    }
  }

  /** The thread waits for its commands: the byte wakes it for the message. */
  #hand(socket: RuledSocket): void {
    this.#send(socket);
    if (this.#control !== undefined) writeSync(this.#control.here, "+");
  }

  #send(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
    this.#worker?.postMessage(message);
  }

  /** The thread notices when no program has the other end any more. */
  #retire({ here, there }: SocketPair): void {
    closeSync(there);
    if (this.#worker === undefined) closeSync(here);
    else this.#retired.add(here);
  }

  /** The thread notices, closes what it has and says so; a connect() that still waits then fails. */
  [Symbol.dispose](): void {
    clearImmediate(this.#beginning);
    this.#failure ??= cannotSupervise("the sandbox is closed");
    if (this.#worker === undefined) this.#close(this.#failure);
    else if (this.#isOpen && this.#control !== undefined) shutDown(this.#control.here);
  }

  /** Only when the thread uses them no more: their numbers may be another file's at once. */
  #close(failure: KodaError): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#failure ??= failure;
    const pairs = [...this.#pairs.entries()].map(([, pair]) => pair);
    if (this.#control !== undefined) pairs.push(this.#control);
    const descriptors = [...pairs.flatMap(({ here, there }) => [here, there]), ...this.#retired];
    for (const descriptor of descriptors) closeSync(descriptor);
    this.#worker?.terminate();
  }
}

function openPair(): SocketPair {
  const pair = socketPair();
  if (pair === undefined) throw cannotSupervise("the system gives koda no socket");
  return pair;
}

function cannotSupervise(reason: string): KodaError {
  return new KodaError("sandbox", `Cannot watch over what commands connect to: ${reason}`);
}
