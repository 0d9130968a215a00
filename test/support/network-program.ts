/**
 * The near machine of a network, in a namespace of its own: makes the far one, joins them, and passes connections on.
 * Prints the process that holds the far namespace. Both are gone, with all that runs in them, once its input ends.
 */
import { once } from "node:events";
import { readlinkSync } from "node:fs";
import { connect, createServer } from "node:net";
import { pipeline } from "node:stream";
import { unlessRefused } from "../../lib/errors.ts";
import { allPids } from "../../lib/system/procstat.ts";

export type NetworkOrder = {
  /** Of the near and the far machine. */
  addresses: readonly [near: string, far: string];
  /** Sockets in the file system, by the ports of the near machine. */
  doors: Readonly<Record<number, string>>;
};

const { addresses, doors }: NetworkOrder = JSON.parse(process.argv[2] ?? "");
const [near, far] = addresses;

const holder = Bun.spawn(["unshare", "--net", "sh", "-c", "echo; exec cat"], { stdin: "pipe", stdout: "pipe" });
await holder.stdout.getReader().read();
const namespace = namespaceOf(holder.pid);
const there = ["nsenter", `--net=/proc/${holder.pid}/ns/net`];
run(`ip link add near type veth peer name far netns ${holder.pid}`);
run(`ip address add ${near}/24 dev near`);
run("ip link set near up");
run(`ip address add ${far}/24 dev far`, there);
run("ip link set far up", there);
run("ip link set lo up", there);

for (const [port, path] of Object.entries(doors)) {
  const server = createServer((socket) => pipeline(socket, connect(path), socket, () => {}));
  server.listen(Number(port), near);
  await once(server, "listening");
}

console.log(holder.pid);
for await (const _ of process.stdin);
for (let found = processesThere(); found.length > 0; found = processesThere()) {
  for (const pid of found) unlessRefused(() => process.kill(pid, "SIGKILL"));
  await Bun.sleep(5);
}
process.exit();

function processesThere(): number[] {
  return (allPids() ?? []).filter((pid) => namespaceOf(pid) === namespace);
}

function namespaceOf(pid: number): string | undefined {
  return unlessRefused(() => readlinkSync(`/proc/${pid}/ns/net`));
}

function run(command: string, prefix: readonly string[] = []): void {
  const { exitCode, stderr } = Bun.spawnSync([...prefix, ...command.split(" ")], { stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${command}: ${stderr}`);
}
