import { Assembly, type Variable } from "../../assembly/assembly.ts";
import { type Arch, processors } from "../../assembly/processors.ts";
import { sendDescriptors } from "../../program/steps/filter.ts";
import { listen } from "../../program/steps/listen.ts";
import { dieWithParent } from "../../program/steps/process.ts";

type MakerOptions = {
  arch: Arch;
  maps: Maps;
  /** Ports of the namespace's own loopback to listen on. */
  ports: readonly number[];
  /** The socket through which everything is handed over. */
  socket: number;
};

/** Texts of uid_map and gid_map. More than a user's own entry only a process outside may write, with the rights to. */
type Maps = { users: string; groups: string; fromOutside: boolean };

const here = -100;
const [CLONE_NEWUSER, CLONE_NEWNET] = [0x10000000, 0x40000000] as const;
const [O_WRONLY, O_RDONLY, O_CLOEXEC, O_PATH] = [1, 0, 0o2000000, 0o10000000] as const;
const SIGCHLD = 17;
const [AF_INET, SOCK_STREAM] = [2, 1] as const;
const SIOCSIFFLAGS = 0x8914;
const interfaceUp = 0x41;

/**
 * The program that makes a session's namespaces: one for users, in which there are only those of the map, and one for
 * the network, with nothing in it but a loopback. It hands their descriptors over and ends; the descriptors alone
 * keep the namespaces alive.
 */
export function makerProgram({ arch, maps, ports, socket }: MakerOptions): Uint8Array {
  const program = new Assembly(processors[arch]);
  dieWithParent(program);
  if (maps.fromOutside) unshareMappedFromOutside(program, maps);
  else {
    unshare(program);
    writeMaps(program, maps, open(program, "/proc/self", O_PATH));
  }
  raiseLoopback(program);
  const listeners = ports.map((port) => listen(program, port));
  const namespaces = ["user", "net"].map((name) => open(program, `/proc/self/ns/${name}`, O_RDONLY));
  sendDescriptors(program, { socket, descriptors: [...namespaces, ...listeners] });
  program.step("exit_group", [0]);
  return program.finish();
}

function unshare(program: Assembly): void {
  program.step("unshare", [CLONE_NEWUSER | CLONE_NEWNET], { must: "unshare(user, net)" });
  // Otherwise only root may write the map of groups.
  writeFile(program, "/proc/self/setgroups", "deny");
}

/** A child stays outside, waits until the namespace is there, and writes its maps. */
function unshareMappedFromOutside(program: Assembly, maps: Maps): void {
  const [child, inside, over] = [program.label("child"), program.label("inside"), program.label("over")];
  const [ends, byte] = [program.bytes(new Uint8Array(8)), program.bytes(new Uint8Array(8))];
  const status = program.variable();
  const self = open(program, "/proc/self", O_PATH);
  program.step("pipe2", [ends, O_CLOEXEC], { must: "pipe2" });
  program.step("clone", [SIGCHLD, 0, 0, 0, 0], { must: "clone" });
  program.jump("zero", child);
  unshare(program);
  program.step("write", [{ half: ends + 4 }, byte, 1], { must: "write(pipe)" });
  program.step("wait4", [-1, status.address, 0, 0], { must: "wait4" });
  program.take(status);
  program.jump("zero", inside);
  // The child has said why.
  program.exitLike(status);

  program.place(child);
  // Nothing comes when there is no namespace, of which the parent has said why.
  program.step("close", [{ half: ends + 4 }]);
  program.step("read", [{ half: ends }, byte, 1], { must: "read(pipe)" });
  program.jump("zero", over);
  writeMaps(program, maps, self);
  program.place(over);
  program.step("exit_group", [0]);
  program.place(inside);
}

/** `place` is the directory in /proc of the process whose namespace it is. */
function writeMaps(program: Assembly, { users, groups }: Maps, place: Variable): void {
  writeFile(program, "uid_map", users, place);
  writeFile(program, "gid_map", groups, place);
}

function open(program: Assembly, path: string, how: number, at: Variable | number = here): Variable {
  const file = program.variable();
  program.step("openat", [at, program.text(path), how | O_CLOEXEC, 0], { must: `open(${path})`, into: file });
  return file;
}

function writeFile(program: Assembly, path: string, content: string, at: Variable | number = here): void {
  const file = open(program, path, O_WRONLY, at);
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
