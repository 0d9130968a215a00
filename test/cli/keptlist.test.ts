import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkLines, koda } from "../support/koda.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

/** A provider whose list of models tells more than names. */
function corpAt({ origin }: ModelServer, place: Place, fields: object = {}) {
  const offered = { id: "brand-new", context_length: 64_000, pricing: { input: 2, output: 10 } };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      if (request.method === "GET") return Response.json({ data: [offered, { id: "bare" }] });
      const { pathname } = new URL(request.url);
      return fetch(`${origin}${pathname}`, { method: "POST", headers: request.headers, body: await request.text() });
    },
  });
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  configure(place, { providers: { corp: { base_url: baseUrl, ...fields } } });
  return { baseUrl, [Symbol.dispose]: () => void server.stop(true) };
}

const directoryOf = ({ home }: Place) => join(home, ".local/share/koda/models");
const usage = { input: 50_000, output: 1_000 };
const working = [reply(call("List", {}), { usage }), reply(call("Glob", { pattern: "*" }), { usage }), say("Done.")];

async function run(place: Place, model: string, ...flags: string[]) {
  const ran = await koda(place, ["exec", "--json", "-m", `corp/${model}`, ...flags, "look around"]);
  const { events, end } = checkLines(ran);
  const windows = events.flatMap((line) => (line.type === "usage" ? line.context.window : []));
  return { exit: ran.exit, error: end.error?.code, cost: end.usage.cost_usd, window: windows[0] };
}

test("what koda models PROVIDER was told of a model that the catalog lacks holds in a run", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => reply(call("List", {}), { usage }));
  using _corp = corpAt(server, place);
  const limits = ["--max-cost", "0.2", "--max-turns", "2"];
  expect(await run(place, "brand-new", ...limits)).toMatchObject({ exit: 2, error: "usage" });
  expect((await run(place, "brand-new", "--max-turns", "1")).window).toBe(128_000);

  expect((await koda(place, ["models", "corp"])).exit).toBe(0);
  const path = join(directoryOf(place), "corp.json");
  expect(readdirSync(directoryOf(place))).toEqual(["corp.json"]);
  expect([statSync(path).mode & 0o777, statSync(directoryOf(place)).mode & 0o777]).toEqual([0o600, 0o700]);
  expect(await run(place, "brand-new", ...limits)).toEqual({
    exit: 5,
    error: "max_cost",
    cost: 0.11,
    window: 64_000,
  });
  expect(await run(place, "bare", ...limits)).toMatchObject({ exit: 2, error: "usage" });
});

test.each<[what: string, change: (kept: Record<string, unknown>) => unknown]>([
  ["of another address", (kept) => ({ ...kept, endpoint: "https://elsewhere.example/v1" })],
  ["of last month", (kept) => ({ ...kept, at: Date.now() - 31 * 24 * 60 * 60 * 1000 })],
  ["without a date", ({ at: _at, ...kept }) => kept],
  ["with figures that are none", (kept) => ({ ...kept, data: [{ id: "brand-new", context_window: -1, pricing: 3 }] })],
  ["that is no list", () => 7],
])("a kept list %s counts for nothing", async (_what, change) => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  using _corp = corpAt(server, place);
  await koda(place, ["models", "corp"]);
  const path = join(directoryOf(place), "corp.json");
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, "utf8")))));
  expect(await run(place, "brand-new")).toMatchObject({ exit: 0, window: 128_000, cost: undefined });
});

test("the configuration counts more than a kept list, and the catalog too", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("Done."));
  using corp = corpAt(server, place, { models: { "brand-new": { context_window: 50_000 } } });
  await koda(place, ["models", "corp"]);
  expect((await run(place, "brand-new")).window).toBe(50_000);

  const env = { OPENAI_API_KEY: "sk-12345678", OPENAI_BASE_URL: corp.baseUrl };
  const list = { at: Date.now(), endpoint: corp.baseUrl, data: [{ id: "gpt-6-sol", context_window: 9_000 }] };
  writeFileSync(join(directoryOf(place), "openai.json"), JSON.stringify(list));
  const ran = await koda(place, ["exec", "--json", "-m", "openai/gpt-6-sol", "hi"], { env });
  const { events } = checkLines(ran);
  expect(events.find((line) => line.type === "usage")).toMatchObject({ context: { window: 272_000 } });
});

test("a list is shown even where nothing can be kept, and a replay needs none", async () => {
  await using place = makePlace();
  await using server = await startModelServer(working);
  using _corp = corpAt(server, place);
  const shown = await koda(place, ["models", "corp"], { env: { XDG_DATA_HOME: "/proc/nothing" } });
  expect(shown.exit).toBe(0);
  expect(existsSync(directoryOf(place))).toBe(false);

  await koda(place, ["models", "corp"]);
  const tape = join(place.project, "tape.jsonl");
  expect((await run(place, "brand-new", "--record", tape)).window).toBe(64_000);
  expect((await run(place, "brand-new", "--replay", tape)).exit).toBe(0);
});
