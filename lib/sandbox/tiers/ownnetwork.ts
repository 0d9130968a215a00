import type { Policy } from "../policy/policy.ts";
import type { ConnectRules, Endpoint } from "../supervisor/rules.ts";
import type { Source } from "./tier.ts";

/** The filter where commands have a network namespace of their own; each tier adds whether they see other processes. */
export function ownNetworkFilter({ network }: Pick<Source<unknown>, "network">, ports: readonly number[]) {
  return {
    // The proxies listen in the shared network: only the filter keeps a command without a network from them.
    network: network === "none" && ports.length > 0 ? "none" : "tcp",
    supervise: true,
    foreignIpc: false,
  } as const;
}

/** The proxies' addresses in a network of the commands' own. */
export function ownEndpoints(ports: readonly number[]): readonly Endpoint[] {
  return ports.map((port) => ({ address: "127.0.0.1", port }));
}

/** The rules where commands have a network namespace of their own. */
export function ownNetworkRules({ write, hide, privateTmp, tmp }: Policy): ConnectRules {
  return {
    sockets: write,
    except: hide,
    names: privateTmp ? [{ from: "/tmp", to: tmp }] : [],
    tcp: "any",
    abstract: true,
  };
}
