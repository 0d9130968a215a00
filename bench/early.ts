import { writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { makeCertificate } from "../test/support/certificate.ts";
import { binary, using } from "../test/support/koda.ts";
import { say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import { type Figure, interleaved, median } from "./measure.ts";

const { certificate, key } = makeCertificate(["localhost"]);
const roundTripMs = 40;
const runs = 20;

type Start = { ms: number; connections: number };

/**
 * The time from the start of the process to the first byte of its request, over TLS to a server some way off. A server
 * that resets the early connection at once shows the time without it.
 */
export async function measure(floors: string): Promise<Figure[]> {
  await using place = makePlace();
  await using model = await startModelServer(() => say("Hello."));
  let accept: () => boolean = () => true;
  let ask: () => void = () => {};
  const origin = createTlsServer({ cert: certificate, key }, (socket) => {
    relay(socket, connect(Number(new URL(model.origin).port), "127.0.0.1"), 0);
    socket.once("data", () => ask());
  });
  const port = await listen(origin);
  const away = createServer((socket) => {
    if (accept()) relay(socket, connect(port, "127.0.0.1"), roundTripMs / 2);
    else socket.resetAndDestroy();
  });
  const url = `https://localhost:${await listen(away)}/v1`;
  const env = { ...place.env, NODE_EXTRA_CA_CERTS: join(place.home, "ca.pem") };
  writeFileSync(env.NODE_EXTRA_CA_CERTS, certificate);

  async function firstByte(argv: readonly string[], { resetsFirst = false } = {}): Promise<Start> {
    const asked = Promise.withResolvers<void>();
    let connections = 0;
    ask = asked.resolve;
    accept = () => ++connections > 1 || !resetsFirst;
    const began = performance.now();
    const quiet = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
    const child = Bun.spawn([...argv], { cwd: place.project, env, ...quiet });
    await asked.promise;
    const ms = performance.now() - began;
    await child.exited;
    return { ms, connections };
  }

  const koda = [binary, "exec", ...using({ url }), "Say hello"];
  const starts = await interleaved(
    runs,
    () => firstByte(koda),
    () => firstByte(koda, { resetsFirst: true }),
    () => firstByte([join(floors, "post"), `${url}/chat/completions`]),
  );
  for (const server of [origin, away]) server.close();
  return figuresOf(starts);
}

function figuresOf([early = [], late = [], least = []]: readonly Start[][]): Figure[] {
  const [value, without, floor] = [early, late, least].map((starts) => median(starts.map(({ ms }) => ms)));
  const reused = early.filter(({ connections }) => connections === 1).length;
  const what = `first byte over TLS, ${roundTripMs} ms away`;
  const common = { unit: "ms", floor: floor ?? Number.NaN };
  return [
    { what, value: value ?? Number.NaN, ...common, bar: "less than without", holds: Number(value) < Number(without) },
    { what: `${what}, without the early connection`, value: without ?? Number.NaN, ...common, bar: "", holds: true },
    { what: "runs with a single connection", value: reused, unit: `of ${runs}`, bar: "most", holds: reused > runs / 2 },
  ];
}

/** Joins two connections; each piece takes a while. */
function relay(one: Socket, other: Socket, delayMs: number): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("data", (piece: Buffer) => setTimeout(() => to.write(piece), delayMs));
    from.on("close", () => setTimeout(() => to.destroy(), delayMs + 1));
    from.on("error", () => from.destroy());
  }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
