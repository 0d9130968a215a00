/**
 * A server in a process of its own, for what is measured of the proxies: says its port, then answers each connection by
 * what it says first: `d1024` wants so many megabytes, `u` is followed by what is only taken, `GET /w1024` is a request
 * whose reply has so many megabytes, and anything else comes back.
 */
import type { Socket } from "node:net";
import { startOrigin } from "../../test/support/egress.ts";

const chunk = Buffer.alloc(256 * 1024);
const megabyte = 1024 * 1024;

function send(socket: Socket, bytes: number): void {
  let left = bytes;
  const more = () => {
    while (left > 0) {
      left -= chunk.length;
      if (!socket.write(chunk)) return void socket.once("drain", more);
    }
    socket.end();
  };
  more();
}

const origin = await startOrigin((socket) => {
  socket.once("data", (first: Buffer) => {
    const [, order = "", amount = "0"] = /^(?:GET \/)?([a-z]?)(\d*)/.exec(first.toString("latin1")) ?? [];
    const bytes = Number(amount) * megabyte;
    switch (order) {
      case "d":
        return send(socket, bytes);
      case "u":
        return void socket.resume().once("end", () => socket.end("done"));
      case "w":
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`);
        return send(socket, bytes);
      default:
        socket.write(first);
        return void socket.pipe(socket);
    }
  });
});
console.log(origin.port);
