import type { Assembly, Variable } from "../../assembly/assembly.ts";

const [AF_INET, SOCK_STREAM, O_CLOEXEC, backlog] = [2, 1, 0o2000000, 1024] as const;
const [SOL_SOCKET, SO_REUSEADDR] = [1, 2] as const;

/** Opens a socket that listens on a port of the loopback. */
export function listen(program: Assembly, port: number): Variable {
  const socket = program.variable();
  // struct sockaddr_in: the family as this processor has it, then port and address as the network does.
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.writeUInt16BE(port, 2);
  address.set([127, 0, 0, 1], 4);
  const one = program.bytes(new Uint8Array(new Uint32Array([1]).buffer));
  program.step("socket", [AF_INET, SOCK_STREAM | O_CLOEXEC, 0], { must: "socket", into: socket });
  program.step("setsockopt", [socket, SOL_SOCKET, SO_REUSEADDR, one, 4], { must: "setsockopt" });
  program.step("bind", [socket, program.bytes(address), address.length], { must: `bind(127.0.0.1:${port})` });
  program.step("listen", [socket, backlog], { must: `listen(127.0.0.1:${port})` });
  return socket;
}
