import { within } from "../async/within.ts";
import type { McpServerConfig } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import type { Tool } from "../tools/tool.ts";
import { aborted } from "../async/aborted.ts";
import { unlessAborted } from "../async/unlessaborted.ts";
import type { ServerFeatures } from "./features.ts";
import type { ServerContext } from "./connection.ts";
import { listedTools } from "./listed.ts";
import { resourceTools } from "./resources.ts";
import { Server } from "./server.ts";
import { serverTools } from "./tool.ts";

export type ServerStatus = { name: string; status: "connected" | "connecting" | "failed" | "disabled"; error?: string };

/** The tools of all servers: the same object until one of them changes. */
export type Offer = {
  tools: readonly Tool[];
  /** The number of tools of each server. */
  counts: ReadonlyMap<string, number>;
  /** Puts such tools behind two that list and call them. */
  listed: (tools: readonly Tool[]) => readonly Tool[];
};

/** The MCP servers of a conversation. They are started at once; closing them stops all of them. */
export class Servers implements AsyncDisposable {
  readonly #servers: readonly Server[];
  readonly #warn: (message: string) => void;
  readonly #warned = new Set<string>();
  #composed: { of: readonly (ServerFeatures | undefined)[]; offer: Offer } | undefined;

  constructor(configs: ReadonlyMap<string, McpServerConfig>, context: ServerContext) {
    this.#warn = context.warn;
    this.#servers = [...configs].map(([name, config]) => new Server(name, config, context));
  }

  /**
   * Settles when the first request may be sent: required servers are connected, and the others are, or have had their
   * time of grace, or an interrupt ends their start. Throws when a required one failed.
   */
  async ready(signal: AbortSignal, interrupt?: AbortSignal): Promise<void> {
    const required = this.#servers.filter(({ config }) => config.required);
    const grace = within(graceMs, Promise.all(this.#servers.map(({ attempted }) => attempted)));
    const needed = Promise.all(required.map(({ attempted }) => attempted));
    const cut = interrupt === undefined ? [] : [aborted(interrupt)];
    await unlessAborted(Promise.race([Promise.all([needed, grace]), ...cut]), signal);
    const failed = required
      .flatMap(({ name, state }) => (state.status === "failed" ? [{ name, fault: `${name}: ${state.error}` }] : []))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const [first] = failed;
    if (first === undefined) return interrupt?.aborted === true ? this.#giveUp() : undefined;
    const faults = failed.map(({ fault }) => fault).join("; ");
    const next = failed.length > 1 ? "koda mcp check tests them" : `koda mcp check ${first.name} tests it by itself`;
    throw new KodaError("config", `required MCP servers failed to initialize: ${faults} (${next})`);
  }

  /** Goes on without those that are not connected yet. */
  #giveUp(): void {
    const late = this.#servers.filter(({ state }) => state.status === "connecting");
    if (late.length === 0) return;
    for (const server of late) server.giveUp();
    const names = late.map(({ name }) => `"${name}"`).join(", ");
    this.#warn(`The start of the MCP servers was interrupted, and ${names} ${late.length > 1 ? "are" : "is"} not used`);
  }

  /** Settles when each server has connected or has failed once. */
  async attempted(signal: AbortSignal): Promise<void> {
    await unlessAborted(Promise.all(this.#servers.map(({ attempted }) => attempted)), signal);
  }

  get statuses(): readonly ServerStatus[] {
    return this.#servers.map(({ name, state }) => ({ name, ...state }));
  }

  /** Servers that never connected. */
  get missing(): readonly ServerStatus[] {
    const never = this.#servers.filter(({ config, features }) => config.enabled && features === undefined);
    return never.map(({ name, state }) => ({ name, ...state }));
  }

  /** The servers' instructions for their tools. */
  get notes(): readonly { server: string; text: string }[] {
    return this.#servers.flatMap(({ name, features }) =>
      features?.instructions === undefined ? [] : [{ server: name, text: features.instructions }],
    );
  }

  /** The servers whose tools are known. */
  get connected(): readonly string[] {
    return this.#servers.filter(({ features }) => features !== undefined).map(({ name }) => name);
  }

  async offer(): Promise<Offer> {
    const now = this.#servers.map(({ features }) => features);
    const { of = [], offer } = this.#composed ?? {};
    if (offer !== undefined && now.every((features, at) => features === of[at])) return offer;
    const composed = await this.#compose();
    this.#composed = { of: now, offer: composed };
    return composed;
  }

  async #compose(): Promise<Offer> {
    const known = this.#servers.filter(({ features }) => features !== undefined);
    const tools: Tool[] = [];
    const counts = new Map<string, number>();
    for (const server of known) {
      const { tools: own, faults } = await serverTools(server, tools);
      tools.push(...own);
      counts.set(server.name, own.length);
      if (faults.length > 0)
        this.#warnOnce(
          `Some tools of the MCP server "${server.name}" are not offered: ${faults.slice(0, 5).join("; ")}`,
        );
    }
    return { tools: [...tools, ...resourceTools(known)], counts, listed: listedTools };
  }

  #warnOnce(message: string): void {
    if (!this.#warned.has(message)) this.#warn(message);
    this.#warned.add(message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map(async (server) => server[Symbol.asyncDispose]()));
  }
}

/** An optional server may delay the first request by this time. */
const graceMs = 1_000;
