import type { Arch } from "../program.ts";

/** What every tier is given beside the policy. */
export type Surroundings = {
  arch: Arch;
  /** The version of this kernel's Landlock; 0 where there is none. */
  abi: number;
  /** Who answers when a command connects; without, unix sockets are closed. */
  connections: { socket: number } | undefined;
  /** Ports on which the proxies are to listen inside, where a tier has a network of its own. */
  ports: readonly number[];
};
