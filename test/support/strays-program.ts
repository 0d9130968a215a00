/**
 * Two shells over one backend, each with a process that left its command, in a process that adopts orphans: prints which
 * of both live at first, when one shell has stopped, and when the other one has too.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { keyFromCommand } from "../../lib/model/keycommand.ts";
import { Reaper } from "../../lib/shell/reaper.ts";
import { Shell } from "../../lib/shell/shell.ts";
import { type HeldTier, openBackend } from "./backends.ts";
import type { Place } from "./place.ts";
import { isAlive } from "./shell.ts";
import { until } from "./until.ts";

export type StraysOrder = {
  tier: HeldTier;
  place: Pick<Place, "home" | "project" | "env">;
  /** Starts a process that writes its pid to the file `$PID`. */
  line: string;
  stop: "stopAll" | "killNow";
  /** Which of both should live: at first, and when the one and then the other shell has stopped. */
  lives: readonly (readonly boolean[])[];
};

const { tier, place, line, stop, lives: expected }: StraysOrder = JSON.parse(process.argv[2] ?? "");
const reaper = new Reaper();
const { backend, policy } = await openBackend(tier, place);
using _ = backend;
const shells = [0, 1].map(() => new Shell({ backend, policy, env: place.env, reaper }));
const daemon = await leaveDaemon();
const strays = await Promise.all(shells.map(leaveStray));
const lives = [strays.map(isAlive)];
for (const [index, shell] of shells.entries()) {
  await shell[stop]();
  // `killNow` does not wait for the processes to be gone.
  const wanted = JSON.stringify(expected[index + 1]);
  if (stop === "killNow") await until(() => JSON.stringify(strays.map(isAlive)) === wanted);
  lives.push(strays.map(isAlive));
}
if (!isAlive(daemon)) throw new Error("A daemon that the user's key command started was killed");
process.kill(daemon);
console.log(JSON.stringify(lives));

/** As `gpg-agent` does, which is the user's and no command's. */
async function leaveDaemon(): Promise<number> {
  const line = "env -i setsid sleep 1000 >/dev/null 2>&1 & echo key-of-$!";
  const key = await keyFromCommand(["sh", "-c", line], { provider: "p", writable: [], env: place.env });
  return Number(key.value?.slice("key-of-".length));
}

async function leaveStray(shell: Shell, index: number): Promise<number> {
  const file = join(place.project, `pid-${index}`);
  const stderr = (bytes: Uint8Array) => void process.stderr.write(bytes);
  await shell.start(`${line}; for _ in $(seq 500); do [ -s "$PID" ] && break; sleep 0.01; done`, {
    env: { PID: file },
    stdout() {},
    stderr,
  }).ended;
  return Number(readFileSync(file, "utf8"));
}
