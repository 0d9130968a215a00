import { closeSync } from "node:fs";
import { failedStep } from "../../assembly/failure.ts";
import type { Arch } from "../../assembly/processors.ts";
import { receive, socketPair } from "../../descriptors.ts";
import { ProgramFile } from "../../program/programfile.ts";
import { whyStepFailed } from "../failures.ts";
import type { OwnerRights } from "../ownerrights.ts";
import { Unavailable } from "../unavailable.ts";
import { makerProgram } from "./maker.ts";

/** A session's namespaces for users and for the network: there as long as their descriptors are open. */
export type SessionNamespaces = Disposable & {
  user: number;
  network: number;
  /** Sockets that listen inside, in the order of the ports; whoever takes them closes them. */
  takeListeners(): readonly number[];
};

const forMessages = 3;

type SessionOptions = { arch: Arch; ports: readonly number[]; maps: OwnerRights["maps"] };

/** Without maps koda's own user is the only one there. */
export async function openNamespaces({ arch, ports, maps }: SessionOptions): Promise<SessionNamespaces> {
  const pair = socketPair();
  if (pair === undefined) throw new Unavailable("no socket could be made");
  const [user, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const ownMaps = { users: `${user} ${user} 1`, groups: `${group} ${group} 1`, fromOutside: false };
  const given = maps === undefined ? ownMaps : { ...maps, fromOutside: true };
  using maker = new ProgramFile(makerProgram({ arch, maps: given, ports, socket: forMessages }));
  try {
    await make(maker, pair.there);
    const [userNamespace, network, ...listeners] = receive(pair.here, { wait: false })?.descriptors ?? [];
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

async function make(maker: ProgramFile, socket: number): Promise<void> {
  const child = Bun.spawn([maker.path], { cwd: "/", env: {}, stdio: ["ignore", "ignore", "pipe", socket] });
  const [said, exit] = await Promise.all([child.stderr.text(), child.exited]);
  if (exit === 0) return;
  const failed = failedStep(said);
  throw failed === undefined
    ? new Unavailable(`making namespaces ended with exit ${exit}${said === "" ? "" : `: ${said.trim()}`}`)
    : whyStepFailed(failed);
}
