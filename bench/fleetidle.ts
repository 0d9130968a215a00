/** Asks a store for tasks, as a worker does that has nothing to do; prints the milliseconds of processor time. */
import { openFleet } from "../lib/fleet/open.ts";
import { worker } from "../test/support/fleettasks.ts";

type Input = { url?: string; path?: string; pollMs: number; idleMs: number };

const { url, path = "", pollMs, idleMs }: Input = JSON.parse(process.argv[2] ?? "{}");
await using store = await openFleet({ url, path, role: "worker", note: console.error });
const identity = worker();
const ask = () => store.claim(identity);

// The first ones prepare statements and compile code; so does the first pass of pg-boss.
for (let count = 0; count < 20; count++) await ask();
await Bun.sleep(6_000);
const before = process.cpuUsage();
const end = performance.now() + idleMs;
while (performance.now() < end) {
  await ask();
  await Bun.sleep(pollMs);
}
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1000);
