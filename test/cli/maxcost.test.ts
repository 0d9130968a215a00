import { expect, test } from "bun:test";
import { checkLines, exec, follow, koda, start, using } from "../support/koda.ts";
import { call, cut, problem, reply, say, wait } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

/** Per million tokens: input 2, cached 0.5, output 10. */
const price = `providers.custom.models.scripted.price={"input":2,"cached":0.5,"output":10}`;
const priced = ["--config", price];
const usage = { input: 100_000, cached: 50_000, output: 1_000 };
const step = (path: string) => reply(call("Read", { path }), { usage });

async function sessionsOf(place: Place): Promise<unknown> {
  return JSON.parse((await koda(place, ["session", "list", "--json"])).stdout);
}

test("a cost limit ends the run between two requests, with a session to continue", async () => {
  await using place = makePlace();
  await using server = await startModelServer([step("a"), step("b"), say("Done.")]);
  const { events, end } = await exec(place, server, [...priced, "--max-cost", "0.25", "read"]);
  expect(end).toMatchObject({ status: "limit", exit: 5, error: { code: "max_cost", retryable: true } });
  expect(end.error?.message).toBe("Cost limit reached: $0.27 of $0.25 (--max-cost)");
  expect(end.usage.cost_usd).toBe(0.27);
  expect(events[0]).toMatchObject({ limits: { max_cost_usd: 0.25 } });
  expect(server.requests).toHaveLength(2);

  expect(end.resume).toContain("price");
  expect(end.resume).not.toContain("max-cost");
  const resumed = await exec(place, server, [...priced, "--max-cost", "0.25", "--resume", end.session ?? ""]);
  expect(resumed.end).toMatchObject({ exit: 0, text: "Done." });
});

test.each(["chat", "responses"])("over %s, input that is cached may be counted beside the rest", async (wire) => {
  await using place = makePlace();
  const beside = reply(call("Read", { path: "a" }), { usage: { input: 50_000, cached: 100_000, output: 1_000 } });
  await using server = await startModelServer([beside, say("Done.")]);
  const { end } = await exec(place, server, ["--wire", wire, ...priced, "--max-cost", "0.15", "read"]);
  expect(end).toMatchObject({ exit: 5, usage: { input: 150_000, cached: 100_000, cost_usd: 0.16 } });
  expect(server.requests).toHaveLength(1);
});

test("a server that reports no tokens at all is not free", async () => {
  await using place = makePlace({ a: "one two three four five\n".repeat(2000) });
  const usage = { input: 0, cached: 0, output: 0 };
  const free = (path: string) => reply(call("Read", { path }), { usage });
  await using server = await startModelServer([free("a"), free("b"), say("Done.")]);
  const { end } = await exec(place, server, [...priced, "--max-cost", "0.04", "read"]);
  expect(end).toMatchObject({ exit: 5, error: { code: "max_cost" }, usage: { input: null, output: null } });
  expect(end.usage).not.toHaveProperty("cost_usd");
});

test("it ends before a request that alone would exceed the limit", async () => {
  await using place = makePlace();
  await using server = await startModelServer([step("a")]);
  const { end } = await exec(place, server, [...priced, "--max-cost", "0.18", "read"]);
  expect(end.error?.message).toContain("$0.135 of $0.18 is spent, and the next request costs at least $0.05066");
});

test("a continued session may be too long for the limit from the start", async () => {
  await using place = makePlace({ "long.txt": "one two three four five\n".repeat(1500) });
  await using server = await startModelServer([call("Read", { path: "long.txt" }), say("Done.")]);
  const { end } = await exec(place, server, ["read"]);
  const resumed = await exec(place, server, [...priced, "--max-cost", "0.005", "--resume", end.session ?? "", "again"]);
  expect(resumed.end).toMatchObject({ exit: 5, error: { code: "max_cost" } });
  expect(resumed.end.error?.message).toMatch(
    /\$0 of \$0.005 is spent, and the next request costs at least \$0\.00[5-9]/,
  );
  expect(server.requests).toHaveLength(2);
});

test("a compaction makes the next request cheaper, and its own request counts", async () => {
  const run = async (...limit: string[]) => {
    await using place = makePlace({ "page.txt": "one two three four five\n".repeat(300) });
    let isSummarized = false;
    await using server = await startModelServer(({ lines, raw }, index) => {
      const input = Math.ceil(raw.length / 3.5);
      const isSummary = lines.at(-1)?.text.startsWith("The conversation is about to outgrow") === true;
      const next = isSummarized ? say("Done.") : call("Read", { path: "page.txt", start_line: index + 1 });
      isSummarized ||= isSummary;
      return reply(isSummary ? say("Goal: read.") : next, { usage: { input, cached: input, output: 1 } });
    });
    return await exec(place, server, [...priced, "--config", "model_defaults.context_window=20000", ...limit, "read"]);
  };
  const { events, end } = await run();
  expect(events.filter(({ type }) => type === "compact")).toHaveLength(1);
  const cost = end.usage.cost_usd ?? 0;
  expect((await run("--max-cost", (cost + 0.01).toFixed(6))).end).toMatchObject({ exit: 0, text: "Done." });
  expect((await run("--max-cost", (cost - 0.003).toFixed(6))).end).toMatchObject({ exit: 5 });
});

test("it holds for a provider that reports nothing", async () => {
  await using place = makePlace();
  const reading = (_request: unknown, index: number) => reply(call("Read", { path: `file-${index}` }), { usage: null });
  await using server = await startModelServer(reading);
  const { end } = await exec(place, server, [...priced, "--max-cost", "0.05", "read"]);
  expect(end).toMatchObject({ exit: 5, error: { code: "max_cost" } });
  expect(end.usage.cost_usd).toBeUndefined();
});

test("it counts attempts that broke in the middle of the reply", async () => {
  await using place = makePlace();
  const arrived = Promise.withResolvers<void>();
  const broken = cut(reply(say("Half"), wait(arrived.promise), say("x")), { frames: 2 }, "rst");
  await using server = await startModelServer([broken, step("a")]);
  const child = start(place, ["exec", "--json", ...using(server), ...priced, "--max-cost", "0.187", "read"]);
  const running = follow(child);
  await running.until(({ type }) => type === "text.delta");
  arrived.resolve();
  const { end } = await running.finished();
  expect(end).toMatchObject({ exit: 5, error: { code: "max_cost" }, usage: { cost_usd: 0.135 } });
  expect(end.error?.message).toMatch(/^Cost limit reached: \$0\.1(3[6-9]|4)\d* of \$0\.187 is spent/);
});

const providers: readonly [model: string, key: string][] = [
  ["openai/gpt-4.1", "max_completion_tokens"],
  ["deepseek/deepseek-chat", "max_tokens"],
];
for (const [model, key] of providers)
  for (const setting of [undefined, 100, 40_000])
    test(`no reply of ${model} is longer than what is left pays for, nor than ${setting ?? "usual"}`, async () => {
      await using place = makePlace();
      await using server = await startModelServer([step("a"), say("Done.")]);
      const [provider, name] = model.split("/");
      const cost = ["--config", `providers.${provider}.models."${name}".price={"input":2,"output":10}`];
      const longest = setting === undefined ? [] : ["--max-output-tokens", String(setting)];
      const flags = ["--wire", "chat", ...cost, ...longest, "--max-cost", "0.415005"];
      checkLines(await koda(place, ["exec", "--json", ...using(server, model), ...flags, "read"]));
      expect(server.requests.map(({ body }) => body[key])).toEqual([setting, Math.min(setting ?? 300, 300)]);
    });

for (const setting of [undefined, 40_000])
  test(`nor over Messages, where each request needs a limit of ${setting ?? "our own"}`, async () => {
    await using place = makePlace();
    await using server = await startModelServer([step("a"), say("Done.")]);
    const cost = `providers.custom.models.scripted.price={"input":2,"output":10}`;
    const longest = setting === undefined ? [] : ["--max-output-tokens", String(setting)];
    // The rest pays for 5000 tokens.
    const flags = ["--wire", "messages", "--config", cost, ...longest, "--max-cost", "0.46201"];
    const { end } = await exec(place, server, [...flags, "read"]);
    expect(end.exit).toBe(0);
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([setting ?? 32_000, 5000]);
  });

const gpt = ["-m", "openai/gpt-5.5"];
test.each<[string, string[], string]>([
  ["a flag", ["--max-cost", "1"], "custom/scripted"],
  ["the configuration", ["--config", "limits.max_cost=1"], "custom/scripted"],
])("a cost limit of %s needs a price", async (_name, flags, model) => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hi.")]);
  const { end, stderr } = await exec(place, server, [...flags, "hello"]);
  expect(end).toMatchObject({ exit: 2, session: null, error: { code: "usage" } });
  expect(stderr).toContain(`The price of ${model} is not known`);
  expect(server.requests).toHaveLength(0);
  expect(await sessionsOf(place)).toEqual([]);

  const fix = /--config '([^']+)'/.exec(stderr)?.[1] ?? "";
  expect((await exec(place, server, [...flags, "--config", fix, "hello"])).end.exit).toBe(0);
});

test("the catalog and the configuration know prices, and the demo costs nothing", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hi."), say("Hi.")]);
  const known = ["exec", "--json", ...gpt, "--base-url", server.url, "--max-cost", "1", "hello"];
  expect(checkLines(await koda(place, known)).end.exit).toBe(0);
  const demo = ["exec", "--json", "-m", "demo", "--max-cost", "0.01"];
  expect(checkLines(await koda(place, demo)).end.exit).toBe(0);
  configure(place, {
    model: "corp/big",
    limits: { max_cost: 1 },
    providers: { corp: { base_url: server.url, models: { big: { price: { input: 1, output: 1 } } } } },
  });
  expect(checkLines(await koda(place, ["exec", "--json", "hello"])).end.exit).toBe(0);
});

test("a long request costs what its tier says, by the catalog's price", async () => {
  await using place = makePlace();
  const usage = { input: 300_000, cached: 100_000, output: 1_000 };
  await using server = await startModelServer([reply(say("Hi."), { usage })]);
  const run = ["exec", "--json", "-m", "openai/gpt-6-sol", "--base-url", server.url, "hello"];
  expect(checkLines(await koda(place, run)).end.usage.cost_usd).toBe(0.855);
});

test("a limit of the provider's is not a limit of koda's", async () => {
  await using place = makePlace();
  await using server = await startModelServer([problem(402, "Pay first")]);
  const { end } = await exec(place, server, [...priced, "--max-cost", "1", "hello"]);
  expect(end).toMatchObject({ status: "failed", exit: 9, error: { code: "quota" } });
});
