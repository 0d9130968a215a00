import { Assembly, type Variable } from "../../assembly/assembly.ts";
import { type Arch, processors } from "../../assembly/processors.ts";
import { handOver } from "../../program/steps/filter.ts";
import { listen } from "../../program/steps/listen.ts";
import { dieWithParent } from "../../program/steps/process.ts";

export type MakerOptions = {
  arch: Arch;
  user: number;
  group: number;
  /** Ports of the namespace's own loopback to listen on. */
  ports: readonly number[];
  /** The socket through which everything is handed over. */
  socket: number;
};

const here = -100;
const [CLONE_NEWUSER, CLONE_NEWNET] = [0x10000000, 0x40000000] as const;
const [O_WRONLY, O_RDONLY, O_CLOEXEC] = [1, 0, 0o2000000] as const;
const [AF_INET, SOCK_STREAM] = [2, 1] as const;
const SIOCSIFFLAGS = 0x8914;
const interfaceUp = 0x41;

/**
 * The program that makes a session's namespaces: one for users, in which koda's own user is the only one, and one for
 * the network, with nothing in it but a loopback. It hands their descriptors over and ends; the descriptors alone
 * keep the namespaces alive.
 */
export function makerProgram({ arch, user, group, ports, socket }: MakerOptions): Uint8Array {
  const program = new Assembly(processors[arch]);
  dieWithParent(program);
  program.step("unshare", [CLONE_NEWUSER | CLONE_NEWNET], { must: "unshare(user, net)" });
  // Without this nobody but root may say which groups there are.
  writeFile(program, "/proc/self/setgroups", "deny");
  writeFile(program, "/proc/self/uid_map", `${user} ${user} 1`);
  writeFile(program, "/proc/self/gid_map", `${group} ${group} 1`);
  raiseLoopback(program);
  const listeners = ports.map((port) => listen(program, port));
  const namespaces = ["user", "net"].map((name) => open(program, `/proc/self/ns/${name}`, O_RDONLY));
  handOver(program, { socket, descriptors: [...namespaces, ...listeners] });
  program.step("exit_group", [0]);
  return program.finish();
}

function open(program: Assembly, path: string, how: number): Variable {
  const file = program.variable();
  program.step("openat", [here, program.text(path), how | O_CLOEXEC, 0], { must: `open(${path})`, into: file });
  return file;
}

function writeFile(program: Assembly, path: string, content: string): void {
  const file = open(program, path, O_WRONLY);
  program.step("write", [file, program.text(content), content.length], { must: `write(${path})` });
  program.step("close", [file]);
}

function raiseLoopback(program: Assembly): void {
  const socket = program.variable();
  const request = Buffer.alloc(40);
  request.write("lo");
  request.writeUInt16LE(interfaceUp, 16);
  program.step("socket", [AF_INET, SOCK_STREAM, 0], { must: "socket", into: socket });
  program.step("ioctl", [socket, SIOCSIFFLAGS, program.bytes(request)], { must: "ioctl(SIOCSIFFLAGS lo)" });
  program.step("close", [socket]);
}
