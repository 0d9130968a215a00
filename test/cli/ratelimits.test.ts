import { expect, test } from "bun:test";
import { exec, follow, koda, type Line, start, using } from "../support/koda.ts";
import { problem, reply, say, status, withHeaders } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

/** A limit that resets soon, and that no usual retry waits for. */
const soon = () => problem(429, "Quota exceeded for this minute", { "retry-after-ms": "2000" });
/** One that resets later than a test may take. */
const later = () => problem(429, "Slow down", { "retry-after": "7200" });

const typesOf = (events: readonly Line[]) => events.map(({ type }) => type);
const inHours = (at: string | undefined) => (Date.parse(at ?? "") - Date.now()) / 3_600_000;

test("a limit that resets too late ends the run at once, and says when it resets", async () => {
  await using place = makePlace();
  await using server = await startModelServer([later(), say("There.")]);
  const { events, end, stderr } = await exec(place, server, ["--wait-limit", "1h", "do it"]);
  expect(end).toMatchObject({ exit: 9, error: { code: "rate_limit", http_status: 429 } });
  expect(inHours(end.error?.retry_at)).toBeWithin(1.9, 2.1);
  expect(events.find(({ type }) => type === "turn.end")).toMatchObject({ error: end.error });
  expect(stderr).toContain("Pass --wait-limit 2h to wait until the limit resets");
  expect(stderr).toContain(`(try again at ${end.error?.retry_at})`);
  expect(server.requests).toHaveLength(1);

  const resumed = await exec(place, server, ["--resume", end.session ?? ""]);
  expect(resumed.end).toMatchObject({ exit: 0, text: "There." });
});

test("--wait-limit sleeps until the limit resets: announced, and not idle", async () => {
  await using place = makePlace();
  await using server = await startModelServer([soon(), say("There.")]);
  const flags = ["--wait-limit", "1h", "--idle-timeout", "1500ms"];
  const { events, end } = await exec(place, server, [...flags, "do it"]);
  expect(end).toMatchObject({ exit: 0, text: "There." });
  const message = "Waiting for the limit to reset… 1/5";
  expect(events.find(({ type }) => type === "retry")).toMatchObject({ code: "quota", delay_ms: 2000, message });
  expect(events[0]).toMatchObject({ limits: { wait_limit_ms: 3_600_000 } });
  const [first, second] = server.requests;
  expect((second?.arrivedAt ?? 0) - (first?.sentAt ?? 0)).toBeGreaterThan(1990);
});

test("without it, a quota ends the run although it resets soon", async () => {
  await using place = makePlace();
  await using server = await startModelServer([soon()]);
  const { end } = await exec(place, server, ["do it"]);
  expect(end).toMatchObject({ exit: 9, error: { code: "quota", retry_at: expect.any(String) } });
  expect(end.error?.message).toContain("Pass --wait-limit 1m to wait until the limit resets");
});

test("a limit that only Google's details tell is one to wait for", async () => {
  await using place = makePlace();
  const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7200s" }];
  const exhausted = { code: 429, message: "Resource exhausted.", status: "RESOURCE_EXHAUSTED", details };
  await using server = await startModelServer([status(429, [{ error: exhausted }])]);
  const { end } = await exec(place, server, ["--wait-limit", "1h", "do it"]);
  expect(end).toMatchObject({ exit: 9, error: { code: "rate_limit" } });
  expect(inHours(end.error?.retry_at)).toBeWithin(1.9, 2.1);
  expect(end.error?.message).toContain("Pass --wait-limit 2h");
});

test("--timeout holds while koda waits for a limit", async () => {
  await using place = makePlace();
  await using server = await startModelServer([later()]);
  const { end } = await exec(place, server, ["--wait-limit", "3h", "--timeout", "700ms", "do it"]);
  expect(end).toMatchObject({ exit: 124, error: { code: "timeout" } });
});

test("a signal ends the wait for a limit at once", async () => {
  await using place = makePlace();
  await using server = await startModelServer([later()]);
  const child = start(place, ["exec", "--json", "--wait-limit", "3h", ...using(server), "do it"]);
  const running = follow(child);
  const retry = await running.until(({ type }) => type === "retry");
  expect(retry).toMatchObject({ delay_ms: 7_200_000 });
  child.kill("SIGTERM");
  const { end } = await running.finished();
  expect(end).toMatchObject({ exit: 143, error: { code: "sigterm" } });
  expect(end.duration_ms).toBeLessThan(30_000);
});

const told = {
  "x-ratelimit-limit-tokens": "1000",
  "x-ratelimit-remaining-tokens": "250",
  "x-ratelimit-reset-tokens": "6m0s",
};
const limits = {
  windows: [{ name: "tokens", used_percent: 75, window_minutes: null, resets_at: expect.any(String) }],
};

test("the usage event has the provider's limits, from the headers of the answer", async () => {
  await using place = makePlace();
  await using server = await startModelServer([withHeaders(reply(say("Hi.")), told)]);
  const { events } = await exec(place, server, ["hello"]);
  expect(events.flatMap((event) => (event.type === "usage" ? [event.limits] : []))).toEqual([limits as never]);
});

test("a refusal tells the limits too, in a usage event without figures before the retry and before the end", async () => {
  await using place = makePlace();
  const codex = { "x-codex-primary-used-percent": "100", "x-codex-plan-type": "pro" };
  const refusal = status(429, { error: { message: "No", resets_in_seconds: 7200 } }, codex);
  await using server = await startModelServer([problem(429, "Slow down", { ...told, "retry-after-ms": "1" }), refusal]);
  const { events, end } = await exec(place, server, ["hello"]);
  expect(end.exit).toBe(9);
  expect(inHours(end.error?.retry_at)).toBeWithin(1.9, 2.1);
  expect(typesOf(events).filter((type) => ["usage", "retry", "turn.end"].includes(type))).toEqual([
    "usage",
    "retry",
    "usage",
    "turn.end",
  ]);
  const nothing = { input: null, cached: null, output: null, reasoning: null };
  const [first, second] = events.filter((event) => event.type === "usage");
  expect(first).toMatchObject({ request: nothing, limits });
  expect(second).toMatchObject({ limits: { windows: [{ name: "primary", used_percent: 100 }], plan: "pro" } });
});

test("a recorded run tells the same limits when it is replayed", async () => {
  await using place = makePlace();
  await using server = await startModelServer([
    withHeaders(reply(say("Hi.")), { "anthropic-ratelimit-unified-5h-utilization": "0.5", "x-secret": "s" }),
  ]);
  await exec(place, server, ["--record", "tape", "hello"]);
  const { stdout } = await koda(place, ["exec", "--json", "--replay", "tape", "hello"]);
  expect(stdout).toContain('"limits":{"windows":[{"name":"5h","used_percent":50,"window_minutes":300');
});
