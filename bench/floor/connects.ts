/** Prints the median time of a `connect()` to a closed port on loopback, in microseconds. */
import { addressOf, openLibrary } from "../../lib/system/clibrary.ts";
import { median } from "../measure.ts";

const times = 2000;
const [AF_INET, SOCK_STREAM, port] = [2, 1, 1] as const;

const libc = openLibrary({
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  connect: { args: ["i32", "ptr", "u32"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
});
if (libc === undefined) throw new Error("The C library cannot be loaded here");

const address = new Uint8Array([AF_INET, 0, 0, port, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
const taken = Array.from({ length: times }, () => {
  const socket = libc.socket(AF_INET, SOCK_STREAM, 0);
  const started = performance.now();
  libc.connect(socket, addressOf(address), address.length);
  const microseconds = (performance.now() - started) * 1000;
  libc.close(socket);
  return microseconds;
});
console.log(median(taken));
