import type { Offer, Servers, ServerStatus } from "../mcp/servers.ts";
import { openServers, type ServerConfigs, type ServerPlace } from "./servers.ts";

/** The MCP servers of a conversation. A refresh replaces them, between turns. */
export class ServerSet implements AsyncDisposable {
  #servers: Servers | undefined;

  constructor(servers?: Servers) {
    this.#servers = servers;
  }

  static async open(configs: ServerConfigs, place: ServerPlace, signal: AbortSignal): Promise<ServerSet> {
    return new ServerSet(await openServers(configs, place, signal));
  }

  /** Starts these in place of those that run, which go on when that fails. */
  async replace(configs: ServerConfigs, place: ServerPlace, signal: AbortSignal): Promise<void> {
    const before = this.#servers;
    this.#servers = await openServers(configs, place, signal);
    await before?.[Symbol.asyncDispose]();
  }

  /** Undefined when there are none. */
  async offer(): Promise<Offer | undefined> {
    return await this.#servers?.offer();
  }

  get statuses(): readonly ServerStatus[] {
    return this.#servers?.statuses ?? [];
  }

  get missing(): readonly ServerStatus[] {
    return this.#servers?.missing ?? [];
  }

  get notes(): Servers["notes"] {
    return this.#servers?.notes ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#servers?.[Symbol.asyncDispose]();
  }
}
