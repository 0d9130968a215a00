import type { Socket } from "node:net";

const chunk = Buffer.alloc(256 * 1024);
const megabyte = 1024 * 1024;

/**
 * What a server does for what is measured of the proxies, by what each connection says first: `d1024` wants so many
 * megabytes, `u` is followed by what is only taken, `t1024` and a line break by so many megabytes, which are taken
 * slowly; `GET /d1024` and `POST /t1024` are the same as requests, and anything else comes back.
 */
export function obey(socket: Socket): void {
  socket.once("data", (first: Buffer) => {
    const text = first.toString("latin1");
    const [, method, order, amount] = /^(?:(GET|POST) \/)?([a-z]?)(\d*)/.exec(text) ?? [];
    const megabytes = Number(amount);
    switch (order) {
      case "d":
        if (method !== undefined) socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${megabytes * megabyte}\r\n\r\n`);
        return send(socket, { megabytes, whenDone: () => socket.end() });
      case "t":
        socket.pause();
        socket.unshift(first.subarray(text.indexOf(method === undefined ? "\n" : "\r\n\r\n")));
        return takeSlowly(socket, {
          megabytes,
          whenDone: () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        });
      case "u":
        return void socket.resume().once("end", () => socket.end("done"));
      default:
        socket.write(first);
        return void socket.pipe(socket);
    }
  });
}

type Amount = { megabytes: number; whenDone: () => void };

/** As fast as it is taken. */
export function send(socket: Socket, { megabytes, whenDone }: Amount): void {
  let left = megabytes * megabyte;
  const more = () => {
    while (left > 0) {
      left -= chunk.length;
      if (!socket.write(chunk)) return void socket.once("drain", more);
    }
    whenDone();
  };
  more();
}

/** Rests after each piece. */
export function takeSlowly(socket: Socket, { megabytes, whenDone }: Amount): void {
  let left = megabytes * megabyte;
  socket.on("data", ({ length }: Buffer) => {
    left -= length;
    if (left <= 0) return whenDone();
    socket.pause();
    setTimeout(() => socket.resume(), 1);
  });
  socket.resume();
}
