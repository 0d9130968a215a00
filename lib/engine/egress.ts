import type { EgressConfig } from "../config/config.ts";
import type { EgressProxies, EgressRequest, ProxyOptions } from "../egress/proxy.ts";
import { developmentHosts, gitHosts } from "../egress/allowlist.ts";
import { parseRules, type Rules } from "../egress/rules.ts";
import { parseUpstream, type Upstream } from "../egress/upstream.ts";
import type { Endpoint } from "../sandbox/supervisor/rules.ts";

/** Where the proxies listen for commands that have a network of their own: HTTP, SOCKS. */
export const ports: readonly [http: number, socks: number] = [3128, 1080];

type Given = {
  config: EgressConfig;
  env: Readonly<Record<string, string | undefined>>;
  onRequest: (request: EgressRequest) => void;
};

/**
 * What a run may reach, and the two proxies that hold its commands to it. In a network of the commands' own their
 * sockets listen before any command runs, so the proxies themselves are loaded with the first one.
 */
export class Egress implements AsyncDisposable {
  readonly mode: EgressConfig["mode"];
  /** The patterns in force, as they were written. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly rules: Rules;
  readonly upstream: Upstream | undefined;
  readonly #onRequest: Given["onRequest"];
  readonly #sockets: number[][] = [];
  #proxies: Promise<EgressProxies> | undefined;

  /** Throws a KodaError for a pattern or a proxy of the user's that cannot be understood. */
  constructor({ config, env, onRequest }: Given) {
    this.mode = config.mode;
    this.allow = config.mode === "allowlist" ? [...developmentHosts, ...gitHosts, ...config.allow] : config.allow;
    this.deny = config.deny;
    this.rules = parseRules(config);
    this.upstream = parseUpstream(env);
    this.#onRequest = onRequest;
  }

  /** Takes sockets that listen in a network of the commands' own: HTTP, SOCKS. */
  take(sockets: readonly number[]): void {
    this.#sockets.push([...sockets]);
    if (this.#proxies !== undefined) this.begin();
  }

  /** Commands are about to run. When the proxies do not come up, nothing gets out: it is told, and closing raises it. */
  begin(): void {
    for (const [http, socks] of this.#sockets.splice(0)) {
      if (http === undefined || socks === undefined) continue;
      this.#proxies = this.#listen({ http: { fd: http }, socks: { fd: socks } });
      this.#proxies.catch(() => undefined);
    }
  }

  /** Listens on this machine's own loopback, where the kernel chooses. */
  async listenHere(): Promise<readonly Endpoint[]> {
    const here = { host: "127.0.0.1", port: 0 };
    this.#proxies = this.#listen({ http: here, socks: here });
    const { httpPort, socksPort } = await this.#proxies;
    return [httpPort, socksPort].map((port) => ({ address: "127.0.0.1", port }));
  }

  async #listen(places: Parameters<EgressProxies["listen"]>[0]): Promise<EgressProxies> {
    const open = await this.#proxies;
    if (open !== undefined) {
      await open.listen(places);
      return open;
    }
    const { EgressProxies } = await import("../egress/proxy.ts");
    const options: ProxyOptions = {
      rules: this.rules,
      onRequest: this.#onRequest,
      ...(this.upstream !== undefined && { upstream: this.upstream }),
    };
    return await EgressProxies.open(options, places);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { closeSync } = await import("node:fs");
    for (const socket of this.#sockets.flat()) closeSync(socket);
    await (await this.#proxies)?.[Symbol.asyncDispose]();
  }
}
