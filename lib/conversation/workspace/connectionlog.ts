import { Refusals } from "../../egress/refusals/refusals.ts";
import type { HostPort } from "../../egress/rules/host.ts";
import type { EgressRequest, HostAnswer, HostQuestion } from "../../egress/wayout.ts";
import type { Event } from "../../engine/event.ts";
import { messageOf } from "../../errors.ts";

/** Asks the user about a host that this call wants to reach. */
export type AskAboutHost = (target: HostPort, call: string | undefined) => Promise<HostAnswer>;

type Caller = { log: ConnectionLog; call: string };

/** Every outbound connection attempt becomes an event; refusals are kept. */
export class ConnectionLog {
  readonly refusals: Refusals;
  readonly #dataDirectory: string | undefined;
  readonly #post: (event: Event) => void;
  /** Calls whose commands may connect, by caller number. */
  readonly #callers: Caller[];
  readonly #ask: AskAboutHost | undefined;

  /** Without `ask` the user cannot be asked, as for calls of agents. */
  constructor(
    dataDirectory: string | undefined,
    post: (event: Event) => void,
    { callers = [], ask }: { callers?: Caller[]; ask?: AskAboutHost | undefined } = {},
  ) {
    this.refusals = new Refusals(dataDirectory);
    this.#dataDirectory = dataDirectory;
    this.#post = post;
    this.#callers = callers;
    this.#ask = ask;
  }

  /** The log of another conversation in the same workspace: its calls may have the same ids. */
  beside(post: (event: Event) => void, ask?: AskAboutHost): ConnectionLog {
    return new ConnectionLog(this.#dataDirectory, post, { callers: this.#callers, ask });
  }

  /** The caller number of a call, by which the proxies identify its commands. */
  callerOf(call: string): number {
    const known = this.#callers.findLastIndex((caller) => caller.log === this && caller.call === call);
    return known === -1 ? this.#callers.push({ log: this, call }) - 1 : known;
  }

  /** Adds an attempt by a tool, or by a command, whose caller number identifies the call. */
  add(request: EgressRequest, tool?: string): void {
    const { log, call } = this.#ownerOf(request);
    log.#add(request, tool ?? call);
  }

  /** Asks the user about a host that a tool or a command wants to reach. */
  async ask(question: HostQuestion, tool?: string): Promise<HostAnswer> {
    const { log, call } = this.#ownerOf(question);
    return (await log.#ask?.(question.target, tool ?? call)) ?? { allow: false };
  }

  #ownerOf({ caller = -1 }: { caller?: number | undefined }): { log: ConnectionLog; call?: string } {
    return this.#callers[caller] ?? { log: this };
  }

  #add(request: EgressRequest, tool: string | undefined): void {
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
