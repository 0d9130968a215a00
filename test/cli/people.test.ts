import { expect, test } from "bun:test";
import { join } from "node:path";
import { z } from "zod";
import { addSessions } from "../../bench/bulk.ts";
import { exec, koda, start } from "../support/koda.ts";
import { call, reply, say, think } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

const usage = { input: 1_000, cached: 800, output: 100 };

function priced(url: string): object {
  const models = { big: { price: { input: 1.25, cached: 0.125, output: 10 } }, free: {} };
  return { model: "corp/big", providers: { corp: { base_url: url, models } } };
}

async function listed(place: Place): Promise<Record<string, unknown>[]> {
  return JSON.parse((await koda(place, ["session", "list", "--json"])).stdout);
}

test("a list has what each session cost, and nothing where a price is unknown", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => reply(say("ok"), { usage }));
  configure(place, priced(server.url));
  for (const args of [
    ["--session", "one"],
    ["--session", "one"],
    ["--session", "two", "-m", "corp/free"],
  ])
    expect((await koda(place, ["exec", ...args, "hi"])).exit).toBe(0);
  expect(await listed(place)).toMatchObject([
    { id: "two", turns: 1, tokens: 1_100, cost_usd: null, outcome: "done" },
    { id: "one", turns: 2, tokens: 2_200, cost_usd: 0.0027, cwd: place.project },
  ]);
  // One reply of unknown cost, and the cost of the whole is unknown.
  await koda(place, ["exec", "--session", "one", "-m", "corp/free", "hi"]);
  expect((await listed(place))[0]).toMatchObject({ id: "one", tokens: 3_300, cost_usd: null });
  const { stdout } = await koda(place, ["session", "list"]);
  expect(stdout).toMatch(/^ID +AGE +TURNS +TOKENS +COST +OUTCOME +DIRECTORY +TITLE\none +\d+s +3 +3\.3K +done /);
});

/** The fields that readers of the format rely on; all others are refused. */
const figure = z.number().nonnegative();
const extra = z.record(z.string(), z.unknown()).optional();
const step = z.strictObject({
  step_id: z.int().min(1),
  timestamp: z.iso.datetime(),
  source: z.enum(["system", "user", "agent"]),
  message: z.string(),
  model_name: z.string().optional(),
  reasoning_content: z.string().optional(),
  tool_calls: z
    .array(
      z.strictObject({
        tool_call_id: z.string(),
        function_name: z.string(),
        arguments: z.record(z.string(), z.unknown()),
      }),
    )
    .optional(),
  observation: z
    .strictObject({ results: z.array(z.strictObject({ source_call_id: z.string(), content: z.string() })) })
    .optional(),
  metrics: z
    .strictObject({ prompt_tokens: figure, completion_tokens: figure, cached_tokens: figure, cost_usd: figure })
    .partial()
    .optional(),
  extra,
});
const trajectory = z.strictObject({
  schema_version: z.literal("ATIF-v1.7"),
  session_id: z.string(),
  agent: z.strictObject({ name: z.literal("koda"), version: z.string(), model_name: z.string() }),
  steps: z.array(step).min(1),
  final_metrics: z.strictObject({
    total_prompt_tokens: figure,
    total_completion_tokens: figure,
    total_cached_tokens: figure,
    total_cost_usd: figure,
    total_steps: figure,
  }),
  extra,
});

test("a session is exported as a trajectory that readers of ATIF accept", async () => {
  await using place = makePlace({ "a.txt": "alpha\n" });
  await using server = await startModelServer([
    reply(think("where is it?"), say("I look."), call("Read", { path: "a.txt" }), call("Read", { path: "b.txt" }), {
      usage,
    }),
    reply(call("Bash", "not an object"), { usage }),
    reply(say("alpha"), { usage }),
  ]);
  configure(place, priced(server.url));
  await koda(place, ["exec", "--session", "mine", "What is in a.txt?"]);
  const { stdout } = await koda(place, ["session", "export", "mine", "--format", "atif"]);
  const { steps, final_metrics, agent } = trajectory.parse(JSON.parse(stdout));
  expect(steps.map(({ step_id }) => step_id)).toEqual(steps.map((_, at) => at + 1));
  expect(steps.map(({ source }) => source)).toEqual(["system", "user", "agent", "agent", "agent"]);
  for (const { source, tool_calls, observation, metrics, model_name, reasoning_content } of steps) {
    if (source !== "agent")
      expect([tool_calls, observation, metrics, model_name, reasoning_content].every((value) => !value)).toBe(true);
    const called = tool_calls?.map(({ tool_call_id }) => tool_call_id);
    expect(observation?.results.map(({ source_call_id }) => source_call_id)).toEqual(called!);
  }
  expect(steps[2]).toMatchObject({
    message: "I look.",
    reasoning_content: "where is it?",
    tool_calls: [{ function_name: "Read", arguments: { path: "a.txt" } }, { arguments: { path: "b.txt" } }],
    observation: { results: [{ content: expect.stringContaining("alpha") }, {}] },
    extra: { finish: "calls", results: [{ ok: true }, { ok: false }] },
    metrics: { prompt_tokens: 1_000, completion_tokens: 100, cached_tokens: 800, cost_usd: 0.00135 },
  });
  expect(final_metrics).toEqual({
    total_prompt_tokens: 3_000,
    total_completion_tokens: 300,
    total_cached_tokens: 2_400,
    total_cost_usd: 0.00405,
    total_steps: 5,
  });
  expect(agent.model_name).toBe("corp/big");
});

test("a name is found by its parts, and a word of a Chinese sentence, in every session", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("loadUserSettings 读取数据库配置"));
  await exec(place, server, ["--session", "mine", "go"]);
  for (const query of ["settings", "userSettings", "数据库", "配置", "oadUser"]) {
    const found = JSON.parse((await koda(place, ["session", "search", query, "--json"])).stdout);
    expect(found).toEqual([
      { session: "mine", seq: expect.any(Number), kind: "assistant", snippet: "loadUserSettings 读取数据库配置" },
    ]);
  }
  expect((await koda(place, ["session", "search", "volcano"])).stderr).toBe('No matches for "volcano"\n');
});

test("a long session is written as it is read: a reader may leave early", async () => {
  await using place = makePlace();
  addSessions(join(place.home, ".local/share/koda/koda.db"), { sessions: 1, items: 20_001 });
  // Not one word here: the texts are koda's own source.
  const absent = ["zz", "yzx"].join("");
  const search = async () => (await koda(place, ["session", "search", absent])).stderr;
  expect(await search()).toBe(`Indexing 20,001 items first\nNo matches for "${absent}"\n`);
  expect(await search()).toBe(`No matches for "${absent}"\n`);
  const whole = await koda(place, ["session", "export", "bulk-000000", "--format", "jsonl"]);
  expect(whole.stdout.trimEnd().split("\n")).toHaveLength(20_002);
  const shown = JSON.parse((await koda(place, ["session", "show", "bulk-000000", "--json"])).stdout);
  expect(shown.items.map(({ seq }: { seq: number }) => seq)).toEqual(Array.from({ length: 20_001 }, (_, n) => n + 1));
  for (const format of ["markdown", "html", "jsonl", "atif"]) {
    const child = start(place, ["session", "export", "bulk-000000", "--format", format]);
    const reader = child.stdout.getReader();
    await reader.read();
    await reader.cancel();
    expect([await child.exited, await child.stderr.text()]).toEqual([141, ""]);
  }
});
