import type { Socket } from "node:net";
import { bytes, connectWay, echo, readAll, startOrigin, type Ports, type Way } from "./egress.ts";
import { forbiddenHost } from "./peers.ts";
import { deadPort, readSome, Stage } from "./stage.ts";

const megabyte = 1024 * 1024;

/** The expectations of a proxy, asked of koda and of others in the same words. Each throws what went wrong. */
const checks: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  async "plain exchange"(stage) {
    const socket = await stage.open(echo);
    socket.write("hello");
    same(await readSome(socket, 5), Buffer.from("hello"));
  },
  async "early data"(stage) {
    const early = bytes(100_000);
    const heard = later<Buffer>();
    await stage.open((server) => heard.resolve(readSome(server, early.length)), { early });
    same(await heard.promise, early);
  },
  async "head byte by byte"(stage) {
    const socket = await stage.open(echo, { isByteByByte: true });
    socket.write("hello");
    same(await readSome(socket, 5), Buffer.from("hello"));
  },
  async "client half-close"(stage) {
    const [question, answer] = [bytes(megabyte), bytes(3 * megabyte, 2)];
    const heard = later<Buffer>();
    const socket = await stage.open((server) => {
      server.once("end", () => server.end(answer));
      heard.resolve(readAll(server));
    });
    socket.end(question);
    same(await readAll(socket), answer);
    same(await heard.promise, question);
  },
  async "server half-close"(stage) {
    const heard = later<Buffer>();
    const socket = await stage.open((server) => {
      heard.resolve(readAll(server));
      server.end("bye");
    });
    same(await readAll(socket), Buffer.from("bye"));
    const rest = bytes(10_000);
    socket.end(rest);
    same(await heard.promise, rest);
  },
  async "reset by the server"(stage) {
    const socket = await stage.open((server) => server.once("data", () => server.resetAndDestroy()));
    socket.write("x");
    await expectReset(socket);
  },
  async "reset by the client"(stage) {
    const reset = later<void>();
    const socket = await stage.open((server) => {
      reset.resolve(expectReset(server));
      server.write("x");
    });
    await readSome(socket, 1);
    socket.resetAndDestroy();
    await reset.promise;
  },
  async "50 MB both ways at once"(stage) {
    const [up, down] = [bytes(50 * megabyte), bytes(50 * megabyte, 2)];
    const heard = later<Buffer>();
    const socket = await stage.open((server) => {
      heard.resolve(readSome(server, up.length));
      server.write(down);
    });
    socket.write(up);
    same(await readSome(socket, down.length), down);
    same(await heard.promise, up);
  },
  async refusal(stage) {
    const number = await stage.numberFor(forbiddenHost);
    if (number !== (stage.way === connectWay ? "403" : "2")) throw new Error(`the answer is "${number}"`);
  },
  async "dead host"(stage) {
    const number = await stage.numberFor("127.0.0.1");
    if (!(stage.way === connectWay ? /^5\d\d$/ : /^[45]$/).test(number)) throw new Error(`the answer is "${number}"`);
  },
};

export const cases = Object.entries(checks).map(([name, run]) => ({ name, run }));

export type Trial = {
  /** Opens the proxy. It has to reach these ports of 127.0.0.1, and to refuse the forbidden host. */
  start(ports: readonly number[]): Promise<AsyncDisposable & Ports>;
  /** Who has not done what a case expects by then hangs. */
  patienceMs: number;
};

/** The cases that a proxy fails, each with the reason. */
export async function failuresOf(way: Way, { start, patienceMs }: Trial): Promise<Map<string, string>> {
  const stages: Stage[] = [];
  await using origin = await startOrigin((socket) => stages.at(-1)?.serve(socket));
  await using proxy = await start([origin.port, deadPort]);
  const failures = new Map<string, string>();
  for (const { name, run } of cases) {
    using stage = new Stage(way, { proxy: way.port(proxy), origin: origin.port });
    stages.push(stage);
    const hangs = later<string>();
    const timer = setTimeout(hangs.resolve, patienceMs, `nothing more came within ${patienceMs / 1000} s`);
    const outcome = run(stage).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    const failure = await Promise.race([outcome, hangs.promise]);
    clearTimeout(timer);
    if (failure !== undefined) failures.set(name, failure);
  }
  return failures;
}

function expectReset(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const wrong = (what: string) => () => reject(new Error(`${what} came instead of a reset`));
    socket.once("error", (error: Error & { code?: string }) => {
      if (error.code === "ECONNRESET") resolve();
      else reject(error);
    });
    socket.once("end", wrong("an end")).once("close", wrong("a close")).resume();
  });
}

function same(heard: Buffer, sent: Buffer): void {
  if (!heard.equals(sent)) throw new Error(`${heard.length} bytes came that are not the ${sent.length} that were sent`);
}

/** A promise that may come to nothing, when its case has failed before. */
function later<T>(): PromiseWithResolvers<T> {
  const made = Promise.withResolvers<T>();
  made.promise.catch(() => {});
  return made;
}
