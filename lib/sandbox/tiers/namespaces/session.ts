import { closeSync } from "node:fs";
import type { Arch } from "../../assembly/processors.ts";
import { receive, socketPair } from "../../../system/descriptors.ts";
import { runToEnd } from "../../probe.ts";
import { ProgramFile } from "../../program/programfile.ts";
import type { OwnerRights } from "../ownerrights.ts";
import { Unavailable } from "../unavailable.ts";
import { makerProgram } from "./maker.ts";

/** A session's namespaces for users and for the network: there as long as their descriptors are open. */
type SessionNamespaces = Disposable & {
  user: number;
  network: number;
  /** Sockets that listen inside, in the order of the ports; the caller closes them. */
  takeListeners(): readonly number[];
};

const forMessages = 3;

type SessionOptions = { arch: Arch; ports: readonly number[]; maps: OwnerRights["maps"] };

/** Maps koda's own user alone, unless there are other maps. */
export async function openNamespaces({ arch, ports, maps }: SessionOptions): Promise<SessionNamespaces> {
  const pair = socketPair();
  if (pair === undefined) throw new Unavailable("no socket could be made");
  const [user, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const ownMaps = { users: `${user} ${user} 1`, groups: `${group} ${group} 1`, fromOutside: false };
  const given = maps === undefined ? ownMaps : { ...maps, fromOutside: true };
  using maker = new ProgramFile(makerProgram({ arch, maps: given, ports, socket: forMessages }));
  try {
    await runToEnd({ argv: [maker.path], cwd: "/", env: {}, descriptors: [pair.there] });
    const [userNamespace, network, ...listeners] = receive(pair.here)?.descriptors ?? [];
    if (userNamespace === undefined || network === undefined || listeners.length < ports.length)
      throw new Unavailable("the namespaces were not handed over");
    return {
      user: userNamespace,
      network,
      takeListeners: () => listeners.splice(0),
      [Symbol.dispose]: () => [userNamespace, network, ...listeners].forEach((descriptor) => closeSync(descriptor)),
    };
  } finally {
    closeSync(pair.here);
    closeSync(pair.there);
  }
}
