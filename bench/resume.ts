import { join } from "node:path";
import { openStore } from "../lib/session/store.ts";
import { binary, using } from "../test/support/koda.ts";
import { say } from "../test/support/model-reply.ts";
import { type ModelServer, startModelServer } from "../test/support/model-server.ts";
import { makePlace, type Place } from "../test/support/place.ts";
import { call, facts, reply, result, start, user } from "../test/support/sessions.ts";
import { type Figure, interleaved, median } from "./measure.ts";

const itemsPerTurn = 6;
const runs = 11;

/** The time from the start of the process to its first request, with a long session and with a new one. */
export async function measure(): Promise<Figure[]> {
  await using place = makePlace();
  await using server = await startModelServer(() => say("Yes."));
  const flags = ["--no-sandbox", "--config", "compaction.auto=false"];
  const short = await makeSession(place, { items: 10_000 });
  const long = await makeSession(place, { items: 100_000, compactedAt: 90_000 });
  const times = await interleaved(
    runs,
    () => firstRequest(place, server, [...flags, "hi"]),
    () => firstRequest(place, server, [...flags, "--resume", short, "hi"]),
    () => firstRequest(place, server, [...flags, "--resume", long, "hi"]),
  );
  const [fresh = 0, ofShort = 0, ofLong = 0] = times.map(median);
  const figure = (what: string, value: number): Figure => ({
    what,
    value,
    unit: "ms",
    floor: fresh,
    bar: "≤ 50 ms",
    holds: value <= 50,
  });
  return [
    figure("first request of a session of 10,000 items", ofShort),
    figure("of 100,000, compacted 10,000 items ago", ofLong),
  ];
}

async function firstRequest(place: Place, server: ModelServer, args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const child = Bun.spawn([binary, "exec", ...using(server), ...args], {
    cwd: place.project,
    env: place.env,
    stderr: "pipe",
  });
  const request = await server.nextRequest();
  const took = request.arrivedAt - startedAt;
  if ((await child.exited) !== 0) throw new Error(await child.stderr.text());
  return took;
}

/** Records a session as if it had been worked in for days; returns its id. */
async function makeSession({ home, project }: Place, { items, compactedAt }: { items: number; compactedAt?: number }) {
  await using store = openStore(join(home, ".local/share/koda/koda.db"));
  await using session = store.create({ ...start, cwd: project, model: "scripted", provider: "custom" });
  const usage = { input: null, cached: null, output: null, reasoning: null };
  session.append({
    kind: "environment",
    text: "here",
    facts: { ...facts, cwd: project, model: "scripted", provider: "custom" },
  });
  for (let n = 0; n < items / itemsPerTurn; n++) {
    session.beginTurn(user(`prompt ${n}`));
    session.append(reply("", call(`call-${n}`)), result(`call-${n}`, `result ${n}`), reply(`answer ${n}`));
    session.endTurn("complete");
    if (compactedAt !== undefined && session.info.length >= compactedAt && session.items().length > compactedAt - 10)
      session.append({ kind: "compaction", text: "summary", kept: [1], tail: [], usage });
  }
  return session.id;
}
