import type { Assembly, Variable } from "../../assembly/assembly.ts";
import { inetAddress } from "../../supervisor/address.ts";

const [AF_INET, SOCK_STREAM, O_CLOEXEC, backlog] = [2, 1, 0o2000000, 1024] as const;
const [SOL_SOCKET, SO_REUSEADDR] = [1, 2] as const;

/** Opens a socket that listens on a port of a network that has only a loopback: there every caller finds it. */
export function listen(program: Assembly, port: number): Variable {
  const socket = program.variable();
  const address = inetAddress({ address: "0.0.0.0", port });
  const one = program.bytes(new Uint8Array(new Uint32Array([1]).buffer));
  program.step("socket", [AF_INET, SOCK_STREAM | O_CLOEXEC, 0], { must: "socket", into: socket });
  program.step("setsockopt", [socket, SOL_SOCKET, SO_REUSEADDR, one, 4], { must: "setsockopt" });
  program.step("bind", [socket, program.bytes(address), address.length], { must: `bind(0.0.0.0:${port})` });
  program.step("listen", [socket, backlog], { must: `listen(0.0.0.0:${port})` });
  return socket;
}
