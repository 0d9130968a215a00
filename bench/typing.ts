import { binary, using } from "../test/support/koda.ts";
import { reply, say, wait } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import { until } from "../test/support/until.ts";
import type { Figure } from "./measure.ts";

const deltasPerSecond = 2000;
const tickMs = 10;
const keystrokes = 150;
const barMs = 20;
/** None of them is in the streamed text, or in a sequence that clears a line. */
const letters = "abcdefgiopqrstuvwxyz";

/** From a key to its echo in `koda chat`, while a reply streams. */
export async function measure(): Promise<Figure[]> {
  await using place = makePlace();
  const perTick = (deltasPerSecond * tickMs) / 1000;
  let ticks = 0;
  const sent = say(...Array.from({ length: perTick }, (_, n) => `${n} `));
  // A timer is late.
  const tick = [sent, wait(() => (ticks++, Bun.sleep(tickMs - 1.5)))];
  await using server = await startModelServer([reply(...Array.from({ length: 3000 }, () => tick).flat())]);
  let shown = "";
  const decoder = new TextDecoder();
  const child = Bun.spawn([binary, "chat", "--ephemeral", ...using(server)], {
    cwd: place.project,
    env: { ...place.env, TERM: "xterm" },
    terminal: { cols: 100, rows: 30, data: (_, bytes) => void (shown += decoder.decode(bytes, { stream: true })) },
  });
  const press = (keys: string) => child.terminal?.write(keys);
  try {
    await until(() => shown.endsWith("> "), "the prompt");
    press("go\r");
    await until(() => shown.includes("18 19 "), "the reply");
    const times: number[] = [];
    const [from, ticksBefore] = [performance.now(), ticks];
    for (let index = 0; index < keystrokes; index++) {
      const letter = letters[index % letters.length] ?? "a";
      if (letter === letters[0]) press("\u0015");
      await Bun.sleep(20 + (index % 7));
      shown = "";
      const pressedAt = performance.now();
      press(letter);
      while (!shown.includes(letter)) await Bun.sleep(0);
      times.push(performance.now() - pressedAt);
    }
    times.sort((a, b) => a - b);
    const value = times[Math.floor(0.95 * times.length)] ?? Infinity;
    const rate = Math.round(((ticks - ticksBefore) * perTick * 1000) / (performance.now() - from));
    const what = `a key to its echo beside ${rate.toLocaleString("en")} deltas/s, 95th percentile`;
    return [{ what, value, unit: "ms", bar: `≤ ${barMs} ms`, holds: value <= barMs }];
  } finally {
    child.kill("SIGKILL");
    await child.exited;
    child.terminal?.close();
  }
}
