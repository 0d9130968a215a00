import { Refusals } from "../egress/refusals/refusals.ts";
import type { EgressRequest } from "../egress/wayout.ts";
import { messageOf } from "../errors.ts";
import type { Event, EventOf } from "./event.ts";

/** Whom the calls of a run wanted to reach: each wish is an event, and what was refused is remembered. */
export class Reached {
  readonly refusals: Refusals;
  readonly #tell: (event: Event) => void;
  /** The call that runs now, if it is the only one. */
  call: string | undefined;

  constructor(dataDirectory: string | undefined, tell: (event: Event) => void) {
    this.refusals = new Refusals(dataDirectory);
    this.#tell = tell;
  }

  hear(request: EgressRequest): void {
    const { via, host, port, verdict } = request;
    const reason = request.verdict === "allowed" ? {} : { reason: request.reason };
    const call = this.call === undefined ? {} : { tool: this.call };
    this.#tell({ type: "egress", via, host, port, verdict, ...reason, ...call } satisfies EventOf<"egress">);
    if (request.verdict === "refused") this.refusals.add({ via, host, port, reason: request.reason, ...call });
  }

  hearFailure(error: unknown): void {
    const message = `Commands have no way out: ${messageOf(error)}`;
    this.#tell({ type: "notice", level: "error", code: "egress", message });
  }

  /** What commands wanted without asking a proxy: a unix socket, an address that is nobody's proxy, to listen. */
  hearConnect(what: string): void {
    this.#tell({ type: "notice", level: "info", code: "connect", message: `sandbox: refused to a command: ${what}` });
  }
}
