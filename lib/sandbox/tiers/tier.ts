import type { Policy } from "../policy.ts";
import type { Arch } from "../program.ts";
import type { ConnectRules, Endpoint, Refusal } from "../supervisor/rules.ts";

/** What every tier is given beside the policy. */
export type Circumstances = {
  arch: Arch;
  /** The version of this kernel's Landlock; 0 where there is none. */
  abi: number;
  /** Ports on which the proxies listen inside, where a tier has a network of its own. */
  ports: readonly number[];
  /** Where the proxies listen on this machine, where a tier has no network of its own. */
  endpoints?: readonly Endpoint[];
  /** The PATH on which programs of the system are looked for. */
  searchPath: string | undefined;
  onRefusal: (refusal: Refusal) => void;
};

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
