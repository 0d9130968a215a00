/** Shell after shell in one process, each stopped as soon as its command is over: prints how many were. */
import { Reaper } from "../../lib/shell/reaper.ts";
import { Shell } from "../../lib/shell/shell.ts";
import { type HeldTier, openBackend } from "./backends.ts";
import type { Place } from "./place.ts";

export type EndsOrder = { tier: HeldTier; place: Pick<Place, "home" | "project" | "env">; shells: number };

const { tier, place, shells }: EndsOrder = JSON.parse(process.argv[2] ?? "");
const reaper = new Reaper();
const { backend, policy } = await openBackend(tier, place);
using _ = backend;

for (let n = 0; n < shells; n++) {
  const shell = new Shell({ backend, policy, env: place.env, reaper });
  await shell.start("true", { stdout() {}, stderr() {} }).ended;
  await shell.stopAll();
}
// An exit that Bun cannot learn of is an error by then.
await Bun.sleep(100);
console.log(shells);
