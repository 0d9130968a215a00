import { scriptFor } from "../test/support/agents.ts";
import { binary, using } from "../test/support/koda.ts";
import { call, reply, say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import { cost, type Figure, interleaved, median } from "./measure.ts";

const most = 8;
const rounds = 5;
const times = 3;

/** Agents side by side, each with commands of 100 ms that write files of their own. */
export async function measure(): Promise<Figure[]> {
  const [ones = [], eights = []] = await interleaved(
    times,
    () => delegate(1),
    () => delegate(most),
  );
  const [one, eight] = [ones, eights].map((runs) => median(runs.map(({ wallMs }) => wallMs))) as [number, number];
  const [small, large] = [await delegate(1, { peak: true }), await delegate(most, { peak: true })];
  const each = (large.peakMb - small.peakMb) / (most - 1);
  const first = median(ones.map(({ firstMs }) => firstMs));
  return [
    {
      what: `${most} agents at once, ${rounds} commands of 100 ms each`,
      value: eight,
      unit: "ms",
      floor: one,
      bar: "≤ 1.4 x one",
      holds: eight <= 1.4 * one,
    },
    { what: "memory of each further agent", value: each, unit: "MB", bar: "≤ 6 MB", holds: each <= 6 },
    { what: "first request of an agent, after the call", value: first, unit: "ms", bar: "≤ 15 ms", holds: first <= 15 },
  ];
}

/** Times from the model's call to the request with the results, and to the first request of an agent. */
async function delegate(count: number, { peak = false } = {}) {
  await using place = makePlace({}, "/var/tmp");
  const names = Array.from({ length: count }, (_, index) => `AGENT${index}`);
  const steps = (name: string) => [
    ...Array.from({ length: rounds }, (_, round) => call("Bash", { command: `sleep 0.1; echo ${round} >> ${name}` })),
    say("done"),
  ];
  await using server = await startModelServer(
    scriptFor({
      go: [reply(...names.map((prompt) => call("InvokeAgent", { agent: "task", prompt }))), say("all done")],
      ...Object.fromEntries(names.map((name) => [name, steps(name)])),
    }),
  );
  const argv = [binary, "exec", "--output", "jsonl", ...using(server), "go"];
  const { peakMb, exit } = await cost(argv, { cwd: place.project, env: place.env, peak });
  const { requests } = server;
  if (exit !== 0 || requests.length !== 2 + count * (rounds + 1)) throw new Error("The run did not do its work");
  const startedAt = requests[0]?.sentAt ?? Number.NaN;
  const wallMs = (requests.at(-1)?.arrivedAt ?? Number.NaN) - startedAt;
  return { wallMs, firstMs: (requests[1]?.arrivedAt ?? Number.NaN) - startedAt, peakMb };
}
