import { Countdown } from "../async/countdown.ts";
import { formatDuration } from "../config/units.ts";
import { messageOf } from "../errors.ts";
import type { Elicit, Elicitation, ElicitationAnswer } from "../tools/elicitation.ts";
import type { ToolContext } from "../tools/tool.ts";
import { visibleLine } from "../visible.ts";
import { type ElicitParams, requiredPages } from "./client.ts";

/** The call for which a request is made: the server may ask its user. */
export type CallingContext = Pick<ToolContext, "signal" | "elicit">;

/** A request to the server that is under way. */
type OpenRequest = { elicit: Elicit | undefined; clock: Countdown };

type ElicitorOptions = { server: string; warn: (message: string) => void };

/** Puts the questions of a server to the user, while it works on a request that was made for the user. */
export class Elicitor {
  readonly #options: ElicitorOptions;
  readonly #requests = new Set<OpenRequest>();
  readonly #open = new Set<Promise<unknown>>();
  /** Aborted when no request is under way any more. */
  #over = new AbortController();

  constructor(options: ElicitorOptions) {
    this.#options = options;
  }

  /** Makes a request, for which the user may be asked. The time of the user does not count. */
  async during<T>(
    { signal, elicit }: CallingContext,
    ms: number,
    request: (stop: AbortSignal) => Promise<T>,
  ): Promise<T> {
    using clock = new Countdown(ms);
    const open = { elicit, clock };
    this.#requests.add(open);
    for (const answer of this.#open) void clock.without(() => answer);
    try {
      return await request(AbortSignal.any([signal, clock.signal]));
    } catch (error) {
      if (clock.signal.aborted)
        throw new Error(`it timed out after ${formatDuration(ms)} (call_timeout)`, { cause: error });
      throw await this.#withPages(error, signal);
    } finally {
      this.#requests.delete(open);
      if (this.#requests.size === 0) this.#end();
    }
  }

  /** The user's answer to the server. Nobody is asked for what cannot be shown, or for an agent. */
  async ask(params: ElicitParams, signal: AbortSignal): Promise<ElicitationAnswer> {
    const elicit = this.#user();
    if (elicit === undefined) return { action: "decline" };
    const { server, warn } = this.#options;
    const asked = elicitationOf(server, params);
    if (typeof asked === "string") {
      warn(`A question of the MCP server "${server}" to you was declined: ${asked}`);
      return { action: "decline" };
    }
    const answer = elicit(asked, AbortSignal.any([signal, this.#over.signal]));
    this.#open.add(answer);
    for (const { clock } of this.#requests) void clock.without(() => answer);
    try {
      return await answer;
    } finally {
      this.#open.delete(answer);
    }
  }

  /** A request that fails for pages that the user has not visited yet: the user is asked to. */
  async #withPages(error: unknown, signal: AbortSignal): Promise<unknown> {
    const pages = error instanceof Error ? requiredPages(error.cause) : [];
    if (pages.length === 0 || this.#user() === undefined) return error;
    const answers: ElicitationAnswer["action"][] = [];
    for (const page of pages) answers.push((await this.ask({ ...page, mode: "url" }, signal)).action);
    const next = answers.every((action) => action === "accept")
      ? "the user was told which, and agreed: make the call again when the user says that it is done"
      : "the user did not agree";
    return new Error(`${messageOf(error)} (it needs the user to visit a page first; ${next})`, { cause: error });
  }

  /** The user behind all requests: a server does not say for which of them it asks. */
  #user(): Elicit | undefined {
    const [elicit, ...others] = new Set([...this.#requests].map((request) => request.elicit));
    return others.length === 0 ? elicit : undefined;
  }

  #end(): void {
    this.#over.abort();
    this.#over = new AbortController();
  }
}

/** The question, or why it cannot be shown to people. */
function elicitationOf(server: string, params: ElicitParams): Elicitation | string {
  const { message } = params;
  if (JSON.stringify(params).length > longest) return `it is longer than ${longest} characters`;
  if (params.mode !== "url") {
    const { properties, required = [] } = params.requestedSchema;
    const fields = { type: "object", properties, required, additionalProperties: false };
    return { server, message, schema: fields };
  }
  const { protocol, username, password, host, href } = new URL(params.url);
  const shown = visibleLine(`"${href}"`);
  if (protocol !== "https:" && protocol !== "http:") return `${shown} is not the address of a web page`;
  // It would stand before the host, and look like one.
  if (username !== "" || password !== "") return `the address on ${host} has a user name`;
  return { server, message, url: href, host };
}

const longest = 64 * 1024;
