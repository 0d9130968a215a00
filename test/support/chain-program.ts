/** A shell whose command left a chain of processes behind: prints whether the chain goes on before and after it stops. */
import { readdirSync, readFileSync } from "node:fs";
import { unlessRefused } from "../../lib/errors.ts";
import { Reaper } from "../../lib/shell/reaper.ts";
import { Shell } from "../../lib/shell/shell.ts";
import { type HeldTier, openBackend } from "./backends.ts";
import type { Place } from "./place.ts";

export type ChainOrder = {
  tier: HeldTier;
  place: Pick<Place, "home" | "project" | "env">;
  line: string;
  /** In the command line of each process of the chain. */
  name: string;
  stop: "stopAll" | "killNow";
};

const { tier, place, line, name, stop }: ChainOrder = JSON.parse(process.argv[2] ?? "");
const reaper = new Reaper();
const { backend, policy } = await openBackend(tier, place);
using _ = backend;
const shell = new Shell({ backend, policy, env: place.env, reaper });
shell.start(line, { stdout() {}, stderr() {} });
const before = await isSeen();
await shell[stop]();
console.log(JSON.stringify({ before, after: await isSeen() }));

/** One look misses most of it. */
async function isSeen(): Promise<boolean> {
  const until = performance.now() + 1_000;
  while (performance.now() < until) {
    const commands = readdirSync("/proc").map((pid) =>
      unlessRefused(() => readFileSync(`/proc/${pid}/cmdline`, "latin1")),
    );
    if (commands.some((command) => command?.startsWith(name))) return true;
    await Bun.sleep(0);
  }
  return false;
}
