import { formatDuration } from "../config/units.ts";
import { authorityOf } from "../egress/rules/authority.ts";
import { type HostPort, quoted } from "../egress/rules/host.ts";
import type { HostAnswer } from "../egress/wayout.ts";
import type { Event } from "../engine/event.ts";
import { isApproval } from "../trust/approvaldecision.ts";
import type { Decided, PendingApprovals } from "./pendingapprovals.ts";

type AskedHost = {
  target: HostPort;
  /** The call that wants to connect. */
  call: string | undefined;
  cwd: string;
};

/** Few clients are as patient. */
const standardLimitMs = 120_000;

/** A program that tries host after host must not fill the user's screen. */
const mostOpen = 8;

/** The questions to the user about hosts that no rule allows: each host and port is asked about once. */
export class HostApprovals {
  readonly #pending: PendingApprovals;
  readonly #limitMs: number;
  /** By `host:port`: what the user has decided, and what is still open. */
  readonly #answers = new Map<string, Promise<HostAnswer>>();
  #open = 0;
  #count = 0;

  constructor(pending: PendingApprovals, { limitMs = standardLimitMs } = {}) {
    this.#pending = pending;
    this.#limitMs = limitMs;
  }

  /** The question stays open when the client gives up: many try again, and then there may be an answer. */
  async ask(asked: AskedHost): Promise<HostAnswer> {
    const name = authorityOf(asked.target);
    const known = this.#answers.get(name);
    if (known !== undefined) return await known;
    if (!this.#pending.canAsk) return { allow: false };
    if (this.#open >= mostOpen) {
      const reason = `the user was not asked about ${name}: ${mostOpen} questions about hosts are open; try again later`;
      return { allow: false, reason };
    }
    const answer = this.#put(name, asked);
    this.#answers.set(name, answer);
    return await answer;
  }

  /** Asks about each host again. */
  forget(): void {
    this.#answers.clear();
  }

  async #put(name: string, asked: AskedHost): Promise<HostAnswer> {
    this.#open++;
    const answer = await this.#pending.ask({
      id: `network-${++this.#count}`,
      request: (id) => requestOf(id, asked),
      objection: (decision) =>
        decision === "prefix" ? "A host has no prefix to remember: decide once, session or deny" : undefined,
      limit: { ms: this.#limitMs, reason: `nobody answered within ${formatDuration(this.#limitMs)}` },
    });
    this.#open--;
    // An interrupt says nothing about the host. No answer counts as one: each further attempt would wait as long again.
    if (answer.by === "end") this.#answers.delete(name);
    return isApproval(answer.decision) ? { allow: true } : { allow: false, reason: refusal(name, answer) };
  }
}

/** On one line of ASCII. */
function refusal(name: string, { feedback, by }: Decided): string {
  if (by !== "user") return `${name} is not allowed: the user was asked, and ${feedback}`;
  return `the user did not allow ${name}${feedback === "" ? "" : ` and said ${quoted(feedback)}`}`;
}

function requestOf(id: string, { target, call, cwd }: AskedHost): Event {
  const network = { host: target.host.text, port: target.port };
  return {
    type: "approval.request",
    id,
    tool: "network",
    input: network,
    effect: "remote",
    rule: "egress: not on the allowlist",
    cwd,
    ...network,
    ...(call !== undefined && { call }),
    decisions: ["once", "session", "deny", "abort"],
  };
}
