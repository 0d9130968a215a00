import { expect, test } from "bun:test";
import { promptsOf } from "../support/chat.ts";
import { chatHere, Lines } from "../support/chatwalk.ts";
import { call, type Entry, problem, reply, say, wait } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { seeded } from "../support/random.ts";

/** KODA_SEQUENCES=100 tries each moment so often. */
const trials = Number(process.env.KODA_SEQUENCES ?? 6);

type Moment = {
  mode?: "safe";
  /** Earlier turns. */
  turns?: number;
  /** The replies; `steer` is called when input should come, and settles when it has. */
  replies: (steer: () => Promise<void>) => readonly Entry[];
  /** An event at which input should come. */
  at?: string;
};

const moments: Record<string, Moment> = {
  "a call": { replies: (steer) => [reply(call("List", { path: "." }), wait(steer))] },
  "the last reply": { replies: (steer) => [reply(say("too early"), wait(steer))] },
  "a wait for a retry": {
    replies: () => [problem(503, "busy", { "retry-after": "0.05" }), say("too early")],
    at: "retry",
  },
  "an approval": { mode: "safe", replies: () => [call("Write", { path: "a", content: "a" })], at: "approval.request" },
  "a compaction": { turns: 4, replies: (steer) => [reply(wait(steer), say("THE SUMMARY"))] },
};

for (const [name, moment] of Object.entries(moments))
  test(`input during ${name} is in the next request, once and in order`, async () => {
    for (let seed = 1; seed <= trials; seed++) expect(await steer(name, moment, seed)).toEqual(expected(name, seed));
  }, 600_000);

const count = (seed: number) => 1 + (seed % 3);
const inputs = (seed: number) => Array.from({ length: count(seed) }, (_, n) => `steered ${n}`);
const expected = (name: string, seed: number) => ({
  steered: inputs(seed),
  problems: [],
  first: name !== "a compaction",
});

/** The steered texts of the next request, in its order; `first` tells that the prompt before them is there too. */
async function steer(name: string, { mode, turns = 0, replies, at }: Moment, seed: number) {
  const random = seeded(seed);
  await using place = makePlace();
  const lines = new Lines();
  const problems: string[] = [];
  const accepted = Promise.withResolvers<void>();
  const submit = async () => {
    await Bun.sleep(random() * 3);
    for (const [n, text] of inputs(seed).entries()) lines.push(JSON.stringify({ op: "input", id: `i${n}`, text }));
    await accepted.promise;
  };
  const earlier = Array.from({ length: turns }, () => say("x".repeat(2_000)));
  await using server = await startModelServer([...earlier, ...replies(submit), say("done"), say("done")]);
  const submission = name === "a compaction" ? { op: "compact" } : { op: "input", text: "first" };
  const next = (replied: number) =>
    replied < turns ? { op: "input", id: `t${replied}`, text: `turn ${replied}` } : { id: "first", ...submission };
  let replied = 0;
  lines.push(JSON.stringify(next(0)));
  for await (const event of chatHere({ place, server, lines, problems, ...(mode && { mode }) })) {
    if (event.type === at) {
      void submit().then(() =>
        lines.push(JSON.stringify({ op: "approve", call: "id" in event ? event.id : "", decision: "once" })),
      );
    }
    if (event.type === "accepted" && event.submission === `i${count(seed) - 1}`) accepted.resolve();
    if (event.type !== "reply") continue;
    replied++;
    if (replied <= turns) lines.push(JSON.stringify(next(replied)));
    if (replied >= turns + 1 + count(seed)) lines.end();
  }
  // Another attempt is the same request.
  const prompts = promptsOf(server.requests[turns + (at === "retry" ? 2 : 1)]);
  return {
    steered: prompts.filter((text) => text.startsWith("steered")),
    first: prompts.includes("first"),
    problems: [...problems, ...server.problems],
  };
}
