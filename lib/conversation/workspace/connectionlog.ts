import { Refusals } from "../../egress/refusals/refusals.ts";
import type { EgressRequest } from "../../egress/wayout.ts";
import type { Event } from "../../engine/event.ts";
import { messageOf } from "../../errors.ts";

/** Every outbound connection attempt becomes an event; refusals are kept. */
export class ConnectionLog {
  readonly refusals: Refusals;
  readonly #post: (event: Event) => void;
  /** Calls whose commands may connect, by caller number. */
  readonly #callers: string[] = [];

  constructor(dataDirectory: string | undefined, post: (event: Event) => void) {
    this.refusals = new Refusals(dataDirectory);
    this.#post = post;
  }

  /** The caller number of a call, by which the proxies identify its commands. */
  callerOf(call: string): number {
    const last = this.#callers.length - 1;
    return this.#callers[last] === call ? last : this.#callers.push(call) - 1;
  }

  /** Adds an attempt by a tool, or by a command, whose caller number identifies the call. */
  add(request: EgressRequest, tool = this.#callers[request.caller ?? -1]): void {
    const { via, host, port, verdict } = request;
    const call = tool === undefined ? {} : { tool };
    if (verdict === "allowed") return this.#post({ type: "egress", via, host, port, verdict, ...call });
    const { reason } = request;
    this.#post({ type: "egress", via, host, port, verdict, reason, ...call });
    if (verdict === "refused") this.refusals.add({ via, host, port, reason, ...call });
  }

  /** Adds a system call that the sandbox refused: connecting past the proxies, or listening. */
  addRefusedCall(what: string): void {
    this.#post({
      type: "notice",
      level: "info",
      code: "connect",
      message: `Blocked by the sandbox: ${what}`,
    });
  }

  addFailure(error: unknown): void {
    const message = `The egress proxies did not start, so commands have no network: ${messageOf(error)}`;
    this.#post({ type: "notice", level: "error", code: "egress", message });
  }
}
