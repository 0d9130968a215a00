import { makePlace } from "../test/support/place.ts";
import { converseIn } from "../test/support/conversation.ts";
import { connectTo } from "../test/support/model-connection.ts";
import { Host } from "../lib/conversation/host.ts";
import { succeeded, type Tool } from "../lib/tools/tool.ts";
import { type Figure, median } from "./measure.ts";

const turns = 1_000;
const measured = 50;

const note: Tool = {
  name: "Note",
  about: "",
  input: { type: "object" },
  claim: () => ({ effect: "read", writes: [] }),
  run: async () => succeeded("noted ".repeat(40)),
};

/** The CPU time of a turn with one call, at the beginning of a conversation and after a thousand turns. */
export async function measure(): Promise<Figure[]> {
  await using place = makePlace();
  const provider = Bun.spawn([process.execPath, "bench/floor/replies.ts"], { stdout: "pipe" });
  const { value } = await provider.stdout.getReader().read();
  const model = connectTo(`http://127.0.0.1:${Number(new TextDecoder().decode(value))}/v1`, "chat");
  const stop = new AbortController();
  await using host = new Host({ stop, cassette: { loose: false } });
  const database = `${place.home}/koda.db`;
  await using conversation = await converseIn(host, place, model, { tools: [note], database, maxTurns: 10_000 });
  const took: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const before = process.cpuUsage();
    const prompt = [{ type: "text" as const, text: `Prompt ${turn}: ${"go on ".repeat(20)}` }];
    for await (const _ of conversation.run({ prompt }, stop.signal));
    const { user, system } = process.cpuUsage(before);
    took.push((user + system) / 1000);
  }
  provider.kill();
  const first = median(took.slice(10, 10 + measured));
  const last = median(took.slice(-measured));
  return [
    {
      what: "CPU of turn 1,000, beside turn 10",
      value: last,
      unit: "ms",
      floor: first,
      bar: "≤ 1.3 x",
      holds: last <= 1.3 * first,
    },
  ];
}
