import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream";
import type { NetworkOrder } from "./network-program.ts";
import { isRoot } from "./nobody.ts";

/** Two machines with a cable between them: network namespaces, in which nobody else is. */
export type Network = AsyncDisposable & {
  /** The near machine's address, for programs on the far one. */
  address: string;
  /** The first words of a command that runs on the far machine. */
  far: readonly string[];
  /** Pulls the cable out of the near machine: no side is told that the other one is gone. */
  cut(): void;
  /** Puts it back. */
  repair(): void;
};

/** Why there can be no such network here. */
export const missingNetwork = whyNone();

/** Of those that documentation uses. */
const addresses = ["192.0.2.1", "192.0.2.2"] as const;

/**
 * Behind each port of the near machine is a socket: one in the file system by its path, one of this process's loopback by
 * its port. Whatever still runs on the far machine at the end is killed, also when this process is.
 */
export async function startNetwork(ports: Readonly<Record<number, string | number>>): Promise<Network> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "koda-network-"));
  stack.defer(() => rmSync(directory, { recursive: true }));
  const doors: Record<number, string> = {};
  for (const [at, target] of Object.entries(ports)) {
    const path = typeof target === "string" ? target : join(directory, at);
    doors[Number(at)] = path;
    if (typeof target === "string") continue;
    const server = createServer((socket) => pipeline(socket, connect(target, "127.0.0.1"), socket, () => {}));
    server.listen(path);
    stack.defer(() => void server.close());
  }
  const order: NetworkOrder = { addresses, doors };
  const program = join(import.meta.dir, "network-program.ts");
  const child = Bun.spawn(["unshare", "--net", process.execPath, program, JSON.stringify(order)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  stack.defer(async () => {
    await child.stdin.end();
    await child.exited;
  });
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error("The network could not be made");
  const set = (state: "up" | "down") => {
    const near = ["nsenter", `--net=/proc/${child.pid}/ns/net`];
    const { exitCode, stderr } = Bun.spawnSync([...near, "ip", "link", "set", "near", state], { stderr: "pipe" });
    if (exitCode !== 0) throw new Error(stderr.toString());
  };
  const ending = stack.move();
  return {
    address: addresses[0],
    far: ["nsenter", `--net=/proc/${Buffer.from(value).toString().trim()}/ns/net`],
    cut: () => set("down"),
    repair: () => set("up"),
    [Symbol.asyncDispose]: async () => await ending.disposeAsync(),
  };
}

function whyNone(): string | undefined {
  if (!isRoot) return "only root can make a network";
  if (Bun.which("ip") === null) return "there is no ip";
  const veth = ["unshare", "--net", "ip", "link", "add", "near", "type", "veth", "peer", "name", "far"];
  const { exitCode, stderr } = Bun.spawnSync(veth, { stderr: "pipe" });
  return exitCode === 0 ? undefined : `no network can be made here: ${stderr.toString().trim()}`;
}
