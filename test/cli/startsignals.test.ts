import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { binary, koda } from "../support/koda.ts";
import { makePlace, type Place } from "../support/place.ts";

/** The moments during the start that are tried; the last ones are in the command itself. KODA_SEQUENCES=500: more. */
const moments = Number(process.env.KODA_SEQUENCES ?? 25);

/** They take turns. */
const term = { signal: "SIGTERM", exit: 143 } as const;
const int = { signal: "SIGINT", exit: 130 } as const;

test.each([[[]], [["--no-sandbox"]]])(
  "no signal is lost while koda sandbox starts %p",
  async (flags) => {
    await using place = makePlace();
    const wholeMs = await startMs(place, flags);
    const lost: string[] = [];
    for (let moment = 0; moment < moments; moment++) {
      const { signal, exit } = moment % 2 === 0 ? term : int;
      const afterMs = (moment / moments) * wholeMs * 1.2;
      const ended = await endBy(place, flags, { signal, afterMs });
      // Before koda has a handler, the signal ends it in its own right: a shell sees the same code.
      if (ended !== exit && ended !== signal) lost.push(`${signal} after ${afterMs.toFixed(1)} ms: ${ended}`);
    }
    expect(lost).toEqual([]);
    expect(existsSync(join(place.project, "went-on"))).toBe(false);
  },
  60_000,
);

async function startMs(place: Place, flags: readonly string[]): Promise<number> {
  const times: number[] = [];
  for (let time = 0; time < 5; time++) {
    const started = performance.now();
    expect(await koda(place, ["sandbox", ...flags, "--", "true"])).toMatchObject({ exit: 0 });
    times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b)[2] ?? 0;
}

type Blow = { signal: "SIGTERM" | "SIGINT"; afterMs: number };

async function endBy(place: Place, flags: readonly string[], { signal, afterMs }: Blow) {
  const child = Bun.spawn([binary, "sandbox", ...flags, "--", "sh", "-c", "sleep 2; touch went-on"], {
    cwd: place.project,
    env: place.env,
    detached: true,
    stdio: ["ignore", "ignore", "ignore"],
  });
  // The moment itself is what is tried, not something to wait for.
  await Bun.sleep(afterMs);
  child.kill(signal);
  await child.exited;
  return child.exitCode ?? child.signalCode;
}
