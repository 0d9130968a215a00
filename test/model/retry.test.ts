import { describe, expect, test } from "bun:test";
import { type ErrorCode, KodaError } from "../../lib/errors.ts";
import { wires } from "../../lib/config/config.ts";
import type { Model, ModelEvent } from "../../lib/model/model.ts";
import { type RetryPolicy, standardRetry, withRetries } from "../../lib/model/retry.ts";
import { connectTo, converse, eventsOf, hello } from "../support/model-connection.ts";
import { cut, problem, reply, say, wait } from "../support/model-reply.ts";
import { refusingUrl, startModelServer } from "../support/model-server.ts";

/** A policy that notes what it would wait, and does not. */
function noting(): { waits: number[]; retry: Pick<RetryPolicy, "max" | "random" | "wait"> } {
  const waits: number[] = [];
  const wait = async (ms: number) => void waits.push(ms);
  return { waits, retry: { max: 5, random: () => 0.5, wait } };
}

const retries = (events: readonly ModelEvent[]) => events.filter((event) => event.type === "retry");

describe.each(wires)("a request over the wire %s", (wire) => {
  test("is repeated until it succeeds, each time announced before the wait", async () => {
    const { waits, retry } = noting();
    await using server = await startModelServer([problem(500, "oh"), problem(503, "no"), say("there")]);
    const events = await converse(connectTo(server.url, wire, { retry }));
    expect(events).toMatchObject([
      {
        type: "retry",
        attempt: 1,
        max: 5,
        delayMs: 200,
        code: "unavailable",
        message: "Reconnecting… 1/5",
        reason: 'test is unavailable: 500 "oh"',
      },
      { type: "retry", attempt: 2, max: 5, delayMs: 400, code: "unavailable" },
      { type: "text", text: "there" },
      { type: "end" },
    ]);
    expect(waits).toEqual([200, 400]);
    expect(server.requests.map((request) => request.raw)).toEqual(Array(3).fill(server.requests[0]?.raw));
  });

  test("waits as long as it was told to, and gives up after five retries with the last error", async () => {
    const { waits, retry } = noting();
    await using server = await startModelServer(() => problem(429, "slow down", { "retry-after": "7" }));
    const error = converse(connectTo(server.url, wire, { retry }));
    await expect(error).rejects.toMatchObject({ code: "rate_limit", httpStatus: 429 });
    expect(waits).toEqual([7000, 7000, 7000, 7000, 7000]);
    expect(server.requests).toHaveLength(6);
  });

  test("waits longer each time when it was not told how long", async () => {
    const { waits, retry } = noting();
    await using server = await startModelServer(() => problem(429, "slow down"));
    await expect(converse(connectTo(server.url, wire, { retry }))).rejects.toThrow();
    expect(waits).toEqual([200, 400, 800, 1600, 3200]);
  });

  test.each([
    [400, "Bad request"],
    [401, "Unauthorized"],
    [403, "Forbidden"],
    [404, "Not found"],
    [400, "maximum context length"],
    [429, "You exceeded your current quota"],
    [400, "content_policy_violation"],
  ])("is not repeated after %d %j", async (code, message) => {
    const { waits, retry } = noting();
    await using server = await startModelServer([problem(code, message)]);
    await expect(converse(connectTo(server.url, wire, { retry }))).rejects.toThrow(message);
    expect(waits).toEqual([]);
  });

  test("that was cut starts anew, and what was shown before is void", async () => {
    const { retry } = noting();
    const arrived = Promise.withResolvers<void>();
    const half = cut(reply(say("half"), wait(arrived.promise), say("x")), { frames: wire === "chat" ? 2 : 4 }, "rst");
    await using server = await startModelServer([half, say("whole")]);
    const events: ModelEvent[] = [];
    for await (const event of eventsOf(connectTo(server.url, wire, { retry })(hello, new AbortController().signal))) {
      events.push(event);
      arrived.resolve();
    }
    expect(events).toMatchObject([
      { type: "text", text: "half" },
      { type: "retry", code: "stream" },
      { type: "text", text: "whole" },
      { type: "end" },
    ]);
  });

  test("to a server on this machine that is not there is not repeated", async () => {
    const { waits, retry } = noting();
    const url = await refusingUrl();
    await expect(converse(connectTo(url, wire, { retry }))).rejects.toMatchObject({ code: "network" });
    expect(waits).toEqual([]);
  });

  test("that is silent is repeated", async () => {
    const { retry } = noting();
    await using server = await startModelServer([reply(wait(new Promise(() => {}))), say("awake")]);
    const events = await converse(connectTo(server.url, wire, { retry, streamIdleMs: 500 }));
    expect(retries(events)).toMatchObject([{ code: "silence" }]);
    expect(events.at(-1)).toMatchObject({ type: "end" });
  });
});

describe("the wait between two attempts", () => {
  const throwing = (error: Error): Model => {
    const next = async () => {
      throw error;
    };
    return () => ({ [Symbol.asyncIterator]: () => ({ next }) });
  };
  type Failing = { code?: ErrorCode; retryable?: boolean; retryAfterMs?: number };
  const failing = ({ code = "unavailable", ...details }: Failing = {}, policy: Partial<RetryPolicy> = {}): Model => {
    const model = throwing(new KodaError(code, "no", { retryable: true, ...details }));
    return withRetries(async () => model, { ...standardRetry, max: 3, ...policy });
  };

  test("ends at once, with the signal's reason, when the run is stopped", async () => {
    const stop = new AbortController();
    const reason = new Error("stopped");
    const started = performance.now();
    const read = async () => {
      for await (const event of eventsOf(failing({ retryAfterMs: 60_000 })(hello, stop.signal))) {
        if (event.type === "retry") queueMicrotask(() => stop.abort(reason));
      }
    };
    await expect(read()).rejects.toBe(reason);
    expect(performance.now() - started).toBeLessThan(5000);
  });

  const minute = 60_000;
  test.each<[string, Failing, waitLimitMs: number, waits: number[], advice: string]>([
    ["short waits need no --wait-limit", { code: "rate_limit", retryAfterMs: minute }, 0, [minute, minute, minute], ""],
    ["a wait that is over is not told at all", { code: "rate_limit", retryAfterMs: 0 }, 0, [200, 400, 800], ""],
    ["a limit's long wait does", { code: "rate_limit", retryAfterMs: 61 * minute }, 0, [], "--wait-limit 61m"],
    ["and one that is long enough", { code: "rate_limit", retryAfterMs: 61 * minute }, 3_659_999, [], "--wait-limit"],
    [
      "which is then waited",
      { code: "rate_limit", retryAfterMs: 61 * minute },
      61 * minute,
      Array(3).fill(61 * minute),
      "",
    ],
    [
      "a server in trouble is asked sooner",
      { retryAfterMs: 61 * minute },
      0,
      [minute, minute, minute],
      "Try again later",
    ],
    [
      "or when it said, with --wait-limit",
      { retryAfterMs: 61 * minute },
      61 * minute,
      Array(3).fill(61 * minute),
      "later",
    ],
    ["a quota that never resets ends at once", { code: "quota", retryable: false }, 61 * minute, [], ""],
    ["a quota that resets is waited for", { code: "quota", retryable: false, retryAfterMs: 5 }, 5, [5, 5, 5], ""],
    ["if it may be", { code: "quota", retryable: false, retryAfterMs: 5 }, 4, [], "--wait-limit 1m"],
    ["no other error is", { code: "request", retryable: false, retryAfterMs: 5 }, 61 * minute, [], ""],
  ])("%s", async (_name, details, waitLimitMs, expected, advice) => {
    const { waits, retry } = noting();
    const error = await converse(failing(details, { ...retry, max: 3, waitLimitMs })).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: details.code ?? "unavailable", retryAfterMs: details.retryAfterMs });
    expect(waits).toEqual(expected);
    if (advice === "") expect(error.message).toBe("no");
    else expect(error.message).toContain(advice);
  });

  test("for a limit is no silence", async () => {
    const steps: string[] = [];
    const wait = async (ms: number) => void steps.push(`wait ${ms}`);
    const waits = () => {
      steps.push("begin");
      return { [Symbol.dispose]: () => void steps.push("end") };
    };
    for (const retryAfterMs of [61 * minute, minute]) {
      const model = failing({ code: "rate_limit", retryAfterMs }, { max: 1, waitLimitMs: 61 * minute, wait });
      await converse(model, { ...hello, waits }).catch(() => steps.push("failed"));
    }
    expect(steps).toEqual(["begin", "wait 3660000", "end", "failed", "begin", "wait 60000", "end", "failed"]);
  });

  test("is scattered by a tenth, so that many runs do not come back together", async () => {
    const delays: number[] = [];
    for await (const event of eventsOf(failing()(hello, AbortSignal.timeout(5000)))) {
      if (event.type === "retry") delays.push(event.delayMs);
      if (delays.length === 2) break;
    }
    expect(delays[0]).toBeWithin(180, 221);
    expect(delays[1]).toBeWithin(360, 441);
  });

  test("a defect is not repeated", async () => {
    const defect = new TypeError("undefined is not a function");
    const model = withRetries(async () => throwing(defect));
    await expect(converse(model)).rejects.toBe(defect);
  });
});
