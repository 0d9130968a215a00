import { expect, test } from "bun:test";
import { checkLines, exec, koda } from "../support/koda.ts";
import { PromptCache } from "../support/model-cache.ts";
import { call, problem, reply, say, think } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";

const messages = ["--wire", "messages"];

test("a task is done over the wire messages, and thoughts go back with their signatures", async () => {
  await using place = makePlace({ "a.txt": "alpha\n" });
  await using server = await startModelServer([
    reply(
      think("read first", "c2lnbmVk"),
      say("I look."),
      call("Read", { path: "a.txt" }),
      call("Read", { path: "b" }),
    ),
    call("Write", { path: "b.txt", content: "beta\n" }),
    say("Done."),
  ]);
  const { end, events } = await exec(place, server, [...messages, "make b.txt"]);
  expect(end).toMatchObject({
    status: "done",
    text: "Done.",
    tools: { ok: 2, failed: 1, denied: 0 },
    files_changed: 1,
  });
  expect(events[0]).toMatchObject({ type: "session.start", wire: "messages" });
  expect(events).toContainEqual(expect.objectContaining({ type: "thinking.delta", text: "read" }));
  const [, second] = server.requests;
  expect(second?.raw).toContain('{"type":"thinking","thinking":"read first","signature":"c2lnbmVk"}');
  expect(second?.raw).toMatch(/"tool_use_id":"call_1_2","content":"[^"]+.*?","is_error":true/);
  expect(server.problems).toEqual([]);
});

test("nearly all of the input of a long turn is read from the prompt cache", async () => {
  await using place = makePlace({ "a.txt": "alpha\n".repeat(30) });
  const cache = new PromptCache();
  await using server = await startModelServer(({ body }, index) => {
    const usage = { ...cache.account(body), output: 20 };
    // One reply has more calls than the provider looks back for.
    const calls = Array.from({ length: index === 20 ? 30 : 1 }, (_, n) =>
      call("Bash", { command: `echo ${index} ${n}` }),
    );
    return index < 40 ? reply(...calls, { usage }) : reply(say("Done."), { usage });
  });
  const { events, end } = await exec(place, server, [...messages, "--session", "s", "count"]);
  expect(end.status).toBe("done");
  const figures = events.flatMap((event) => (event.type === "usage" ? [event.request] : []));
  expect(figures).toHaveLength(41);
  const sum = (key: "input" | "cached" | "written") => figures.reduce((total, usage) => total + (usage[key] ?? 0), 0);
  expect(sum("cached") / sum("input")).toBeGreaterThanOrEqual(0.95);
  // Each request reads what the one before has written, and writes the rest.
  for (const [index, { input, cached }] of figures.slice(1).entries()) {
    const before = figures[index];
    expect(cached).toBe(before?.input ?? null);
    expect(cached).toBeLessThan(input ?? 0);
  }
  for (const { raw } of server.requests) expect(raw.match(/"cache_control"/g)?.length).toBeLessThanOrEqual(4);
  const { cached, written, ...others } = end.usage;
  expect({ cached, written }).toEqual({ cached: sum("cached"), written: sum("written") });
  expect(others.input).toBe(sum("input"));

  // The totals of the session are those of both runs.
  const next = await exec(place, server, [...messages, "--resume", "s", "once more"]);
  const last = next.events.findLast((event) => event.type === "usage");
  expect(last?.session.written).toBe((written ?? 0) + (last?.turn.written ?? NaN));
}, 30_000);

test("a session that began over another wire goes on over this one", async () => {
  await using place = makePlace({ "a.txt": "alpha\n" });
  await using server = await startModelServer([
    reply(think("hm"), call("Read", { path: "a.txt" }, { id: "functions.Read:0" })),
    say("It has alpha."),
    say("Still alpha."),
  ]);
  await exec(place, server, ["--wire", "chat", "--session", "s", "what is in a.txt?"]);
  const { end } = await exec(place, server, [...messages, "--resume", "s", "and now?"]);
  expect(end).toMatchObject({ status: "done", text: "Still alpha." });
  expect(server.requests[2]?.wire).toBe("messages");
  expect(server.problems).toEqual([]);
});

test("a refused signature is told once, and the run goes on without thoughts", async () => {
  await using place = makePlace({ "a.txt": "alpha\n" });
  await using server = await startModelServer([
    reply(think("hm", "bad"), call("Read", { path: "a.txt" })),
    problem(
      400,
      "messages.1.content.0: Invalid `signature` in `thinking` block",
      {},
      { type: "invalid_request_error" },
    ),
    say("Fine."),
  ]);
  const { end, events } = await exec(place, server, [...messages, "read"]);
  expect(end).toMatchObject({ status: "done", text: "Fine." });
  const notices = events.filter((event) => event.type === "notice" && event.code === "thoughts");
  expect(notices).toHaveLength(1);
});

test("anthropic speaks it at the address of its variable, with its own header for the key", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hello.")]);
  const env = { ANTHROPIC_BASE_URL: server.origin, ANTHROPIC_API_KEY: "sk-ant-0123456789" };
  const ran = await koda(place, ["exec", "--json", "-m", "anthropic/claude-opus-4-6", "hi"], { env });
  const { events, end } = checkLines(ran);
  expect(end).toMatchObject({ status: "done", text: "Hello." });
  expect(events[0]).toMatchObject({ provider: "anthropic", wire: "messages" });
  const [seen] = server.requests;
  expect(seen?.path).toBe("/v1/messages");
  expect(seen?.headers["x-api-key"]).toBe("sk-ant-0123456789");
  expect(ran.stdout + ran.stderr).not.toContain("0123456789");
});

test("an effort that an older gateway does not know is left out", async () => {
  await using place = makePlace();
  await using server = await startModelServer([
    problem(400, "output_config: Extra inputs are not permitted", {}, { type: "invalid_request_error" }),
    say("Hello."),
  ]);
  const env = { ANTHROPIC_BASE_URL: server.origin, ANTHROPIC_API_KEY: "sk-ant-0123456789" };
  const model = ["-m", "anthropic/claude-opus-4-6", "--reasoning-effort", "low"];
  const { end } = checkLines(await koda(place, ["exec", "--json", ...model, "hi"], { env }));
  expect(end).toMatchObject({ status: "done", text: "Hello." });
  expect(server.requests.map(({ body }) => body.output_config)).toEqual([{ effort: "low" }, undefined]);
});

test("a long conversation leaves room for its reply within the window", async () => {
  await using place = makePlace({ "a.txt": "alpha\n" });
  const usage = { input: 60_000, output: 1_000 };
  await using server = await startModelServer([reply(call("Read", { path: "a.txt" }), { usage }), say("Done.")]);
  const model = "providers.custom.models.scripted";
  const config = ["--config", `${model}.context_window=100000`, "--config", `${model}.max_output=64000`];
  const { end } = await exec(place, server, ["--wire", "messages", ...config, "Read a.txt"]);
  expect(end).toMatchObject({ exit: 0, text: "Done." });
  const [first, second] = server.requests.map(({ body }) => Number(body.max_tokens));
  expect(first).toBe(64_000);
  expect(second).toBeWithin(38_000, 39_001);
});

test("a session's requests to OpenAI carry one key for its prompt cache, also in a fork", async () => {
  await using place = makePlace({ "a.txt": "alpha\n" });
  await using server = await startModelServer(({ lines }) =>
    lines.at(-1)?.role === "tool" ? say("Done.") : call("Read", { path: "a.txt" }),
  );
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "sk-0123456789" };
  const model = ["-m", "openai/gpt-5.5"];
  await koda(place, ["exec", ...model, "--session", "first", "read"], { env });
  await koda(place, ["exec", ...model, "--fork", "first", "again"], { env });
  await koda(place, ["exec", ...model, "--session", "second", "read"], { env });
  const keys = server.requests.map(({ body }) => body.prompt_cache_key);
  expect(keys).toEqual(["first", "first", "first", "first", "second", "second"]);
});

test("a server of the user's own is sent no field that only OpenAI knows", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("Done."));
  configure(place, { providers: { corp: { base_url: server.url, models: { big: {} } } } });
  for (const wire of ["chat", "responses"]) await koda(place, ["exec", "-m", "corp/big", "--wire", wire, "hi"]);
  for (const { body } of server.requests) expect(body).not.toContainAnyKeys(["prompt_cache_key", "cache_control"]);
});

test("Claude behind OpenRouter is asked to cache, other models are not", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("Done."));
  const env = { OPENROUTER_BASE_URL: server.url, OPENROUTER_API_KEY: "sk-or-0123456789" };
  await koda(place, ["exec", "-m", "openrouter/anthropic/claude-opus-4.6", "hi"], { env });
  await koda(place, ["exec", "-m", "openrouter/openai/gpt-5.5", "hi"], { env });
  expect(server.requests.map(({ body }) => body.cache_control)).toEqual([{ type: "ephemeral" }, undefined]);
});
