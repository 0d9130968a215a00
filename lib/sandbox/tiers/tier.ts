import type { Arch } from "../assembly/processors.ts";
import type { Proxies } from "../backend.ts";
import type { Policy } from "../policy/policy.ts";
import type { ConnectRules, Endpoint, Refusal } from "../supervisor/rules.ts";

/** What every tier is given beside the policy. */
export type TierOptions = {
  arch: Arch;
  /** The version of this kernel's Landlock; 0 where there is none. */
  abi: number;
  /** Where the proxies listen in a network of the commands' own, in this order: HTTP, SOCKS. */
  ports: readonly number[];
  /** Takes the sockets that listen there, in the order of the ports, and closes them when it is disposed of. */
  onSockets?: (sockets: readonly number[]) => Disposable;
  /** Where the proxies listen on this machine, where a tier has no network of its own. */
  endpoints?: readonly Endpoint[];
  /** The PATH on which programs of the system are looked for. */
  searchPath: string | undefined;
  onRefusal: (refusal: Refusal) => void;
};

/** The filter where commands have a network namespace of their own; each tier adds whether they see other processes. */
export const ownNetwork = {
  network: "tcp",
  unixSockets: true,
  superviseConnect: true,
  superviseListen: false,
  foreignIpc: false,
} as const;

/** Where commands find the proxies in a network of their own. */
export function proxiesAt([http, socks]: readonly number[]): Proxies | undefined {
  if (http === undefined || socks === undefined) return undefined;
  const at = (port: number): Endpoint => ({ address: "127.0.0.1", port });
  return { http: at(http), socks: at(socks) };
}

/** Who may be connected to where commands have a network namespace of their own. */
export function connectRulesOf(policy: Policy, replacesTmp: boolean): ConnectRules {
  return {
    sockets: policy.write,
    except: policy.hide,
    names: replacesTmp ? [{ from: "/tmp", to: policy.tmp }] : [],
    tcp: "any",
    abstract: true,
  };
}
