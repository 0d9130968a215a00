import { expect, test } from "bun:test";
import { checkLines, koda } from "../support/koda.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";

const usage = { input: 1_000, cached: 800, output: 100 };

function serve() {
  return startModelServer([reply(call("Read", { path: "a.txt" }), { usage }), reply(say("Good."), { usage })]);
}

function price({ url }: ModelServer, model: object): object {
  return { model: "corp/big", providers: { corp: { base_url: url, models: { big: model } } } };
}

test("the closing line says what a run cost", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await using server = await serve();
  configure(place, price(server, { price: { input: 1.25, cached: 0.125, output: 10 } }));
  const { stderr } = await koda(place, ["exec", "Read a.txt"]);
  expect(stderr).toContain(" · tokens: 2,000 in (1,600 cached), 200 out · $0.0027 · 1 call\n");
});

test("events say the cost of the run so far, and the last one of all of it", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await using server = await serve();
  configure(place, price(server, { price: { input: 1.25, output: 10 } }));
  const { events, end } = checkLines(await koda(place, ["exec", "--json", "Read a.txt"]));
  expect(events.flatMap((event) => (event.type === "usage" ? [event.cost_usd] : []))).toEqual([0.00225, 0.0045]);
  expect(end.usage.cost_usd).toBe(0.0045);
});

test("a cost that is not known is not told", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await using server = await serve();
  configure(place, price(server, {}));
  const { stderr } = await koda(place, ["exec", "Read a.txt"]);
  expect(stderr).toContain("200 out · 1 call\n");
  expect(stderr).not.toContain("$");
});
