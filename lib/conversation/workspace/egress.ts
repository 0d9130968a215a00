import { closeSync } from "node:fs";
import type { EgressConfig } from "../../config/config.ts";
import type { EgressProxies, Listening, ListenAddresses } from "../../egress/proxy/proxy.ts";
import { parseUpstream, type Upstream } from "../../egress/route/upstream.ts";
import { developmentHosts, gitHosts } from "../../egress/rules/allowlist.ts";
import { type EgressRules, parseRules } from "../../egress/rules/rules.ts";
import type { EgressRequest, WayOut } from "../../egress/wayout.ts";
import type { Endpoint } from "../../sandbox/supervisor/rules.ts";

/** The ports of the proxies in a network of the commands' own: HTTP, SOCKS. */
export const ports: readonly [http: number, socks: number] = [3128, 1080];

/** Loading the proxies takes longer than most commands, which do not use the network; the first that does waits. */
const patienceMs = 20;

type EgressOptions = {
  config: EgressConfig;
  env: Readonly<Record<string, string | undefined>>;
  ask?: WayOut["ask"];
  onRequest: (request: EgressRequest) => void;
  /** Called when the proxies cannot start: every connection of a command then fails. */
  onFailure: (error: unknown) => void;
};

/**
 * The egress rules and the two proxies that enforce them for commands. In a network of the commands' own the sockets
 * listen before any command runs, so the proxies can be loaded soon after the first one.
 */
export class Egress implements AsyncDisposable {
  readonly mode: EgressConfig["mode"];
  /** The patterns in effect, as written. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly rules: EgressRules;
  readonly upstream: Upstream | undefined;
  readonly #options: EgressOptions;
  /** Sockets that wait for the first command. */
  #waiting: Waiting[] = [];
  #beginning: ReturnType<typeof setTimeout> | undefined;
  #hasBegun = false;
  #proxies: Promise<EgressProxies> | undefined;

  /** Throws a KodaError for a bad pattern or a bad upstream proxy. */
  constructor(options: EgressOptions) {
    const { config, env } = options;
    this.#options = options;
    this.mode = config.mode;
    this.allow = config.mode === "allowlist" ? [...developmentHosts, ...gitHosts, ...config.allow] : config.allow;
    this.deny = config.deny;
    this.rules = parseRules(config);
    this.upstream = parseUpstream(env);
  }

  /** The same rules for koda's own tools. The user is not asked about a host here, since no call is known. */
  get ofTools(): WayOut {
    return { rules: this.rules, upstream: this.upstream, onRequest: this.#options.onRequest };
  }

  /** Takes the sockets that listen in a network of the commands' own: HTTP, SOCKS. */
  take([http = -1, socks = -1]: readonly number[]): Disposable {
    const places = { http: { fd: http }, socks: { fd: socks } };
    if (this.#hasBegun) return this.#serve(places);
    const waiting: Waiting = { places, listening: undefined };
    this.#waiting.push(waiting);
    return {
      [Symbol.dispose]: () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        if (waiting.listening === undefined) for (const { fd } of Object.values(places)) closeSync(fd);
        else waiting.listening[Symbol.dispose]();
      },
    };
  }

  /** Called before a command runs: the proxies start soon after. */
  begin(): void {
    this.#beginning ??= setTimeout(() => this.#begin(), patienceMs);
  }

  #begin(): void {
    this.#hasBegun = true;
    for (const waiting of this.#waiting.splice(0)) waiting.listening = this.#serve(waiting.places);
  }

  /** Listens on this machine's loopback, on ports that the kernel chooses. */
  async listenHere(): Promise<readonly Endpoint[]> {
    const here = { host: "127.0.0.1", port: 0 };
    const { http, socks } = await this.#listen({ http: here, socks: here });
    return [http, socks].map((port) => ({ address: "127.0.0.1", port }));
  }

  #serve(places: ListenAddresses): Disposable {
    const listening = this.#listen(places).catch(this.#options.onFailure);
    return { [Symbol.dispose]: () => void listening.then((open) => open?.[Symbol.dispose]()) };
  }

  async #listen(places: ListenAddresses): Promise<Listening> {
    this.#proxies ??= this.#load();
    return await (await this.#proxies).listen(places);
  }

  async #load(): Promise<EgressProxies> {
    const { EgressProxies } = await import("../../egress/proxy/proxy.ts");
    return new EgressProxies({ ...this.ofTools, ask: this.#options.ask });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#beginning);
    for (const { places } of this.#waiting) for (const { fd } of Object.values(places)) closeSync(fd);
    await (await this.#proxies)?.[Symbol.asyncDispose]();
  }
}

type Inside = { http: { fd: number }; socks: { fd: number } };
type Waiting = { places: Inside; listening: Disposable | undefined };
