import { expect, test } from "bun:test";
import { invoke, resultsIn } from "../support/agents.ts";
import { follow, start, using } from "../support/koda.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { type ModelRequestSeen, startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

/** Per million tokens. */
const price = { input: 2, output: 10 };
const usdOf = ({ input, output }: { input: number; output: number }) =>
  (input * price.input + output * price.output) / 1e6;
const limit = 0.2;
const flags = [
  "--wire",
  "chat",
  "--config",
  `providers.deepseek.models."deepseek-chat".price=${JSON.stringify(price)}`,
];

type Reply = { child: string | undefined; output: number; usd: number };

/** A run of eight agents whose replies are as long as they may be; those of each wait for what `held` returns. */
async function runEight(
  held: (reply: Reply, asked: number) => Promise<void> | undefined,
  onFirstEnd: () => void = () => {},
) {
  await using place = makePlace({ "a.txt": "a\n" });
  const replies: Reply[] = [];
  await using server = await startModelServer(async (request) => {
    const child = /CHILD (\d)/.exec(request.raw.includes("delegate") ? "" : request.raw)?.[1];
    const output = child === undefined ? 10 : allowedIn(request);
    const input = Math.ceil(request.raw.length / 3.5);
    const made = { child, output, usd: usdOf({ input, output }) };
    replies.push(made);
    const usage = { input, cached: 0, output };
    const agents = Array.from({ length: 8 }, (_, index) => invoke("explore", `CHILD ${index}`));
    if (child === undefined && resultsIn(request).length === 0) return reply(...agents, { usage });
    if (child === undefined) return reply(say("As far as they came."), { usage });
    await held(made, replies.filter((other) => other.child !== undefined).length);
    return reply(call("Read", { path: "a.txt", start_line: replies.length }), { usage });
  });
  const args = ["exec", "--json", ...using(server, "deepseek/deepseek-chat"), ...flags];
  const run = follow(start(place, [...args, "--max-cost", String(limit), "delegate"]));
  await run.until((line) => line.type === "agent" && line.event.type === "end");
  onFirstEnd();
  const { end } = await run.finished();
  expect(server.problems).toEqual([]);
  expect(end.agents).toEqual({ ok: 0, failed: 8, cancelled: 0 });
  const spent = replies.reduce((sum, { usd }) => sum + usd, 0);
  expect(end.usage.cost_usd).toBeCloseTo(spent, 6);
  return { end, spent, replies: replies.filter(({ child }) => child !== undefined) };
}

/** The longest reply that a request allows, in tokens. */
function allowedIn({ body }: ModelRequestSeen): number {
  const allowed = Number(body.max_tokens);
  expect(allowed).toBeGreaterThan(0);
  return allowed;
}

test("eight agents at once share what the cost limit leaves, and do not exceed it together", async () => {
  const all = Promise.withResolvers<void>();
  const { end, spent, replies } = await runEight((_, asked) => (asked === 8 ? all.resolve() : undefined, all.promise));
  const shares = replies.slice(0, 8).map(({ output }) => output);
  expect(Math.max(...shares) - Math.min(...shares)).toBeLessThan(10);
  expect(spent).toBeLessThan(limit);
  // Enough was kept for their parent to answer.
  expect([end.exit, end.text]).toEqual([0, "As far as they came."]);
});

test("one that goes on while the others are answered takes no more than its share of what is left each time", async () => {
  const isOver = Promise.withResolvers<void>();
  const { end, spent, replies } = await runEight(
    ({ child }) => (child === "0" ? undefined : isOver.promise),
    () => isOver.resolve(),
  );
  // What the others may cost is not spent twice.
  expect(spent).toBeLessThan(limit);
  expect([end.exit, end.text]).toEqual([0, "As far as they came."]);
  const inFlight = replies.filter(({ child }) => child !== "0").reduce((sum, { usd }) => sum + usd, 0);
  expect(spent).toBeLessThan(limit + inFlight);
});
