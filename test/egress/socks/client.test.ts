import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { parseAuthority } from "../../../lib/egress/rules/host.ts";
import { connectThrough, SocksRefusal } from "../../../lib/egress/socks/client.ts";
import { startOrigin } from "../../support/egress.ts";

const credentials = { user: "user", password: "p@ss" };
const target = parseAuthority("origin.test:443");
if ("fault" in target) throw new Error(target.fault);

/** A proxy that gives one answer for each message, and the messages as they arrive. */
async function scripted(answers: readonly (readonly number[])[]) {
  const heard: string[] = [];
  const waiting = answers.map((bytes) => Buffer.from(bytes));
  const proxy = await startOrigin((socket: Socket) => {
    socket.on("data", (chunk: Buffer) => {
      heard.push(chunk.toString("latin1"));
      socket.write(waiting.shift() ?? "");
    });
  });
  const socket = connect({ host: "127.0.0.1", port: proxy.port });
  await once(socket, "connect");
  return { proxy, socket, heard };
}

const connected = [5, 0, 0, 3, 2, 104, 105, 0, 80];

test("the proxy is given credentials when it asks for them, and the target's first bytes are kept", async () => {
  const { proxy, socket, heard } = await scripted([
    [5, 2],
    [1, 0],
    [...connected, ...Buffer.from("early")],
  ]);
  await using _ = proxy;
  await connectThrough(socket, target, credentials);
  const [early] = await once(socket, "data");
  expect(early.toString()).toBe("early");
  expect(heard).toEqual(["\x05\x02\x00\x02", "\x01\x04user\x04p@ss", "\x05\x01\x00\x03\x0borigin.test\x01\xbb"]);
  socket.destroy();
});

test.each([
  ["wants none", [[5, 0], connected], undefined],
  ["wants none of these methods", [[5, 0xff]], "does not speak SOCKS5 with credentials"],
  ["speaks an earlier version", [[4, 0]], "does not speak SOCKS5 with credentials"],
  [
    "refuses the credentials",
    [
      [5, 2],
      [1, 1],
    ],
    "wants other credentials",
  ],
  [
    "changes its version",
    [
      [5, 0],
      [4, 0],
    ],
    "does not speak SOCKS5",
  ],
  [
    "refuses the target",
    [
      [5, 0],
      [5, 5],
    ],
    "refused (connection refused)",
  ],
  [
    "has a reply of its own",
    [
      [5, 0],
      [5, 99],
    ],
    "refused (SOCKS5 reply 99)",
  ],
])("a proxy that %s", async (_, answers, refusal) => {
  const { proxy, socket } = await scripted(answers);
  await using _proxy = proxy;
  const outcome = await connectThrough(socket, target, credentials).catch((error: unknown) => error);
  expect(outcome instanceof SocksRefusal ? outcome.message : outcome).toBe(refusal);
  socket.destroy();
});

test("a proxy that leaves is an error like any other", async () => {
  const proxy = await startOrigin((socket: Socket) => void socket.end());
  await using _ = proxy;
  const socket = connect({ host: "127.0.0.1", port: proxy.port });
  await once(socket, "connect");
  expect(connectThrough(socket, target)).rejects.toThrow("the connection was closed");
  await once(socket, "close");
});
