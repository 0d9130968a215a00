import { createServer, type Socket } from "node:net";
import { once } from "node:events";
import { portOf } from "./egress.ts";

/** Speaks PostgreSQL's protocol as far as to be asked for its version, which it answers with this one. */
export async function startOldPostgres(shown: string, number: string): Promise<AsyncDisposable & { port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    let waiting = Buffer.alloc(0);
    let isStarted = false;
    socket.on("data", (data: Buffer) => {
      waiting = Buffer.concat([waiting, data]);
      for (;;) {
        // A message has a letter, but for the first one, and its length.
        const from = isStarted ? 1 : 0;
        if (waiting.length < from + 4 || waiting.length < from + waiting.readInt32BE(from)) return;
        const letter = isStarted ? String.fromCharCode(waiting[0] ?? 0) : "start";
        waiting = waiting.subarray(from + waiting.readInt32BE(from));
        isStarted = true;
        socket.write(Buffer.concat(answers(letter, { shown, number })));
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server),
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const ready = message("Z", Buffer.from("I"));

function answers(letter: string, row: Readonly<Record<string, string>>): Buffer[] {
  const data = [message("D", rowOf(Object.values(row))), message("C", text("SELECT 1"))];
  const columns = message("T", columnsOf(Object.keys(row)));
  switch (letter) {
    case "start":
      return [message("R", int32(0)), ready];
    case "Q":
      return [columns, ...data, ready];
    case "P":
      return [message("1")];
    case "B":
      return [message("2")];
    case "D":
      return [message("t", int16(0)), columns];
    case "E":
      return data;
    case "S":
      return [ready];
    default:
      return [];
  }
}

function message(letter: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(letter), int32(body.length + 4), body]);
}

function columnsOf(names: readonly string[]): Buffer {
  const textType = 25;
  const rest = Buffer.concat([int32(0), int16(0), int32(textType), int16(-1), int32(-1), int16(0)]);
  return Buffer.concat([int16(names.length), ...names.flatMap((name) => [text(name), rest])]);
}

function rowOf(values: readonly string[]): Buffer {
  return Buffer.concat([int16(values.length), ...values.flatMap((value) => [int32(value.length), Buffer.from(value)])]);
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
