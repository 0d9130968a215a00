import { describe, expect, test } from "bun:test";
import { type ErrorCode, exitByCode, KodaError } from "../../lib/errors.ts";
import { type Wire, wires } from "../../lib/config/config.ts";
import type { Model, ModelEvent } from "../../lib/model/model.ts";
import { failureOf } from "../support/failure.ts";
import { type ConnectionOptions, connectTo, converse, eventsOf, hello } from "../support/model-connection.ts";
import {
  call,
  cut,
  drip,
  type Ending,
  type Entry,
  framesIn,
  hang,
  bytesOf,
  problem,
  raw,
  reply,
  say,
  silence,
  status,
  think,
  wait,
} from "../support/model-reply.ts";
import { refusingUrl, startModelServer } from "../support/model-server.ts";
import { chatChunk, responsesEvent } from "../support/model-wire.ts";

/** The error that one request without retries ends with. */
async function failing(entry: Entry, wire: Wire = "chat", options?: ConnectionOptions): Promise<KodaError> {
  await using server = await startModelServer([entry]);
  return await errorOf(connectTo(server.url, wire, options));
}

const errorOf = (model: Model) => failureOf(converse(model));

describe("what a provider answers", () => {
  test.each<[number, string, object, ErrorCode, boolean]>([
    [400, "Invalid value for temperature", { param: "temperature" }, "request", false],
    [401, "Incorrect API key provided", { code: "invalid_api_key" }, "credentials", false],
    [403, "Country not supported", {}, "region", false],
    [400, "API key not valid. Please pass a valid API key.", {}, "credentials", false],
    [404, "The model `x` does not exist", { code: "model_not_found" }, "model_not_found", false],
    [404, "page not found", {}, "model_not_found", false],
    [400, "x is not a valid model ID", {}, "model_not_found", false],
    [422, "Extra inputs are not permitted", {}, "request", false],
    [405, "Method not allowed", {}, "request", false],
    [400, "too long", { code: "context_length_exceeded" }, "context", false],
    [
      400,
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
      {},
      "context",
      false,
    ],
    [400, "This model's maximum context length is 1024 tokens, and you requested 1113", {}, "context", false],
    [400, "prompt is too long: 210000 tokens > 200000 maximum", {}, "context", false],
    [400, "The input token count (1200000) exceeds the maximum number of tokens allowed", {}, "context", false],
    [400, "Please reduce the length of the messages or completion", {}, "context", false],
    [413, "Request Entity Too Large", {}, "context", false],
    [400, "rejected", { code: "content_policy_violation" }, "content_policy", false],
    [400, "The response was filtered due to Azure's content management policy", {}, "content_policy", false],
    [403, "Your input was flagged", {}, "content_policy", false],
    [402, "Payment required", {}, "quota", false],
    [429, "You exceeded your current quota, please check your plan", { code: "insufficient_quota" }, "quota", false],
    [429, "Quota exceeded for metric", { status: "RESOURCE_EXHAUSTED" }, "quota", false],
    [400, "Your credit balance is too low to access the API", {}, "quota", false],
    [429, "Rate limit reached for tokens per min", { code: "rate_limit_exceeded" }, "rate_limit", true],
    [429, "", {}, "rate_limit", true],
    [429, "The usage limit has been reached", { type: "usage_limit_reached" }, "rate_limit", true],
    [408, "timeout", {}, "unavailable", true],
    [409, "conflict", {}, "unavailable", true],
    [500, "The server had an error", { type: "server_error" }, "unavailable", true],
    [500, "upstream quota service failed", {}, "unavailable", true],
    [502, "bad gateway", {}, "unavailable", true],
    [503, "no capacity", {}, "unavailable", true],
    [503, "That model is currently overloaded with other requests", {}, "overloaded", true],
    [529, "Overloaded", { type: "overloaded_error" }, "overloaded", true],
  ])("%d %j %j is the error %s (retryable: %p)", async (code, message, fields, expected, retryable) => {
    const error = await failing(problem(code, message, {}, fields));
    expect({ code: error.code, retryable: error.retryable, httpStatus: error.httpStatus }).toEqual({
      code: expected,
      retryable,
      httpStatus: code,
    });
    expect(error.message).toContain(message);
  });

  test.each<[string, unknown]>([
    ["error.message", { error: { message: "the words" } }],
    ["error as text", { error: "the words" }],
    ["a list of errors", [{ error: { message: "the words" } }]],
    ["message", { object: "error", message: "the words", code: 400 }],
    ["detail", { detail: "the words" }],
    ["a list of details", { detail: [{ msg: "the words", loc: ["body"] }] }],
    ["the upstream's own words", { error: { message: "Provider returned error", metadata: { raw: "the words" } } }],
    ["plain text", "the words"],
    ["a page's title", "<html><head><title>the words</title></head><body>x</body></html>"],
    ["a page without one", "<div><style>p{}</style><p>the words</p></div>"],
  ])("the words are found as %s", async (_name, body) => {
    expect((await failing(status(400, body))).message).toContain("the words");
  });

  test("a long message is cut, and control characters stay out of the terminal", async () => {
    const { message } = await failing(problem(400, `\u001b[31m${"x".repeat(5000)}`));
    expect(message.length).toBeLessThan(800);
    expect(message).not.toContain("\u001b");
    expect(message).toContain("…");
  });

  test.each([
    ["itself", "Incorrect API key provided: private-9431-key."],
    ["half hidden", "Incorrect API key provided: sk-proj-****************9431."],
    ["as a header", "invalid header Authorization: Bearer private-9431-key"],
  ])("the key is not in the message, not even %s", async (_name, words) => {
    const { message } = await failing(problem(401, words), "chat", { key: "private-9431-key" });
    expect(message).not.toMatch(/9431/);
    expect(message).toContain("[key]");
    expect(message).toContain("TEST_KEY");
  });

  test("a refused request without a key says which variable would hold it", async () => {
    const { message, code } = await failing(problem(401, "Unauthorized"));
    expect(code).toBe("credentials");
    expect(message).toContain("TEST_KEY");
  });

  test("a model that is not there is named with the address that was asked", async () => {
    await using server = await startModelServer([problem(404, "no such model")]);
    const { message } = await errorOf(connectTo(server.url, "chat"));
    expect(message).toContain('"scripted"');
    expect(message).toContain(server.url);
  });

  test.each(["Not Found", "404 page not found"])(
    "an address without a model server (%s) may be wrong",
    async (text) => {
      expect((await failing(status(404, text))).message).toContain("Check the base URL");
    },
  );

  test("a redirect is not followed, and its target is named", async () => {
    await using thief = await startModelServer([say("give me your key")]);
    for (const code of [301, 302, 307, 308]) {
      const error = await failing(status(code, "", { location: `${thief.url}/chat/completions` }), "chat", {
        key: "secret",
      });
      expect(error).toMatchObject({ code: "request", retryable: false, httpStatus: code });
      expect(error.message).toContain(thief.url);
    }
    expect(thief.requests).toHaveLength(0);
  });

  test("a page instead of a stream is no reply", async () => {
    const page = status(200, "<html><title>Welcome to the hotel</title></html>", {
      "content-type": "text/html; charset=utf-8",
    });
    const error = await failing(page);
    expect(error).toMatchObject({ code: "request", retryable: false });
    expect(error.message).toContain("text/html");
    expect(error.message).toContain("Welcome to the hotel");
  });

  test("an error in a body that says 200 is an error", async () => {
    const error = await failing(status(200, { error: { message: "Insufficient credits", code: 402 } }));
    expect(error).toMatchObject({ code: "quota", retryable: false, httpStatus: 402 });
  });

  test("every code of the provider's has its exit code in the contract", () => {
    expect(exitByCode).toMatchObject({ request: 1, context: 1, credentials: 4, quota: 9, rate_limit: 9, stream: 9 });
  });
});

describe("how long a provider asks to wait", () => {
  const inTwentySeconds = () => Math.round((Date.now() + 20_000) / 1000);
  test.each<[string, Record<string, string> | (() => Record<string, string>), string, [number, number] | undefined]>([
    ["retry-after in seconds", { "retry-after": "3" }, "", [3000, 3000]],
    ["retry-after with a fraction", { "retry-after": "0.25" }, "", [250, 250]],
    [
      "retry-after as a date",
      () => ({ "retry-after": new Date(Date.now() + 20_000).toUTCString() }),
      "",
      [15_000, 21_000],
    ],
    ["retry-after in the past", { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, "", [0, 0]],
    ["retry-after-ms", { "retry-after-ms": "120", "retry-after": "9" }, "", [120, 120]],
    ["a day", { "retry-after": "86400" }, "", [86_400_000, 86_400_000]],
    ["far too long", { "retry-after": "8640000000000" }, "", [31_536_000_000, 31_536_000_000]],
    ["nonsense", { "retry-after": "soon" }, "", undefined],
    [
      "the reset of what is used up",
      {
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6.5s",
        "x-ratelimit-remaining-requests": "5",
        "x-ratelimit-reset-requests": "40s",
      },
      "",
      [6500, 6500],
    ],
    ["a reset in minutes", { "x-ratelimit-reset-requests": "1m0s" }, "", [60_000, 60_000]],
    [
      "a reset as a moment in seconds",
      () => ({ "x-ratelimit-reset": String(inTwentySeconds()) }),
      "",
      [15_000, 21_000],
    ],
    [
      "a reset as a moment in milliseconds",
      () => ({ "x-ratelimit-reset": String(inTwentySeconds() * 1000) }),
      "",
      [15_000, 21_000],
    ],
    ["its message", {}, "Limit reached. Please try again in 1.5s. Visit us", [1500, 1500]],
    ["its message in milliseconds", {}, "Please try again in 340ms.", [340, 340]],
    ["its message in minutes", {}, "try again in 0m30.5s", [30_500, 30_500]],
    ["its message in words", {}, "Please retry after 12 seconds", [12_000, 12_000]],
    ["its message in hours", {}, "Try again in 2 hours and 5 minutes.", [7_500_000, 7_500_000]],
    ["its message with a reset", {}, "The limit resets in 3d 2h.", [266_400_000, 266_400_000]],
    [
      "the reset of the one that is used up, by a share",
      () => ({
        "anthropic-ratelimit-unified-5h-utilization": "1.0",
        "anthropic-ratelimit-unified-5h-reset": String(inTwentySeconds()),
        "anthropic-ratelimit-unified-7d-utilization": "0.5",
        "anthropic-ratelimit-unified-7d-reset": String(inTwentySeconds() + 400_000),
      }),
      "",
      [15_000, 21_000],
    ],
    [
      "the reset of the one that is used up, as a date",
      () => ({
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-tokens-reset": new Date(Date.now() + 20_000).toISOString(),
      }),
      "",
      [15_000, 21_000],
    ],
    [
      "the reset of the one that is used up, by a percentage",
      { "x-codex-primary-used-percent": "100", "x-codex-primary-reset-after-seconds": "18.5" },
      "",
      [18_400, 18_600],
    ],
    ["no word of it", {}, "Slow down", undefined],
  ])("it is read from %s", async (_name, headers, message, expected) => {
    const error = await failing(problem(429, message, typeof headers === "function" ? headers() : headers));
    const { retryAfterMs } = error;
    if (expected === undefined) return expect(retryAfterMs).toBeUndefined();
    expect(retryAfterMs).toBeWithin(expected[0], expected[1] + 1);
  });

  test.each<[number, string, number | undefined]>([
    [402, "Pay first", 3000],
    [503, "Oops", 3000],
    [401, "Incorrect API key provided", undefined],
    [404, "The model does not exist", undefined],
    [400, "maximum context length is 8192 tokens", undefined],
  ])("only a refusal that passes with time has one: %d %s", async (status, message, expected) => {
    const error = await failing(problem(status, message, { "retry-after": "3" }));
    expect(error.retryAfterMs).toBe(expected);
  });
});

test.each<[string, object, number]>([
  ["a field in seconds", { type: "usage_limit_reached", message: "No", resets_in_seconds: 90 }, 90_000],
  ["a field as a moment", { message: "No", resets_at: Math.floor(Date.now() / 1000) + 3600 }, 3_600_000],
  [
    "headers that the body repeats",
    {
      message: "No",
      metadata: { headers: { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": Date.now() + 70_000 } },
    },
    70_000,
  ],
])("the wait is read from a body with %s", async (_name, error, expected) => {
  const { retryAfterMs, retryAt } = await failing(status(429, { error }));
  expect(retryAfterMs).toBeWithin(expected - 20_000, expected + 1);
  expect(Date.parse(retryAt ?? "")).toBeWithin(Date.now() + expected - 20_000, Date.now() + expected + 1);
});

test.each<[number, string, ErrorCode]>([
  [400, "The image data you provided does not represent a valid image. Please check your input", "invalid_image"],
  [400, "You uploaded an unsupported image. Please make sure your image is below 20 MB in size", "invalid_image"],
  [400, "Invalid base64 image_url.", "invalid_image"],
  [400, "Could not process image", "invalid_image"],
  [400, "messages.7.content.2: At least one of the image dimensions exceed max allowed size: 8000", "invalid_image"],
  [400, "messages.5.content.2.image.source.base64: image exceeds 5 MB maximum: 6500712 bytes", "invalid_image"],
  [413, "image exceeds 5 MB maximum: 6500712 bytes", "invalid_image"],
  [400, "messages.0.content.1.image.source.base64.media_type: Input should be 'image/jpeg'", "invalid_image"],
  [400, "Image does not match the provided media type image/png", "invalid_image"],
  [400, "Unable to process input image. Please retry or report", "invalid_image"],
  [400, "Provided image is not valid.", "invalid_image"],
  [400, "Unsupported MIME type: image/svg+xml", "invalid_image"],
  [400, "Unsupported media type for base64 image: image/avif", "invalid_image"],
  [422, "Image 0 failed: Image exceeds the maximum allowed total pixels.", "invalid_image"],
  [400, "cannot identify image file <_io.BytesIO object at 0x7f>", "invalid_image"],
  [400, "Failed to load image or audio file", "invalid_image"],
  [400, "image size too large: 40 megapixels", "invalid_image"],
  [400, "image input is not supported - hint: you may need to provide the mmproj", "images"],
  [400, "Invalid content type. image_url is only supported by certain models.", "images"],
  [400, "unknown variant `image_url`, expected `text`", "images"],
  [400, "Unsupported content type: image_url", "images"],
  [400, "This model does not support image inputs", "images"],
  [404, "No endpoints found that support image input", "images"],
  [500, "Could not process image", "unavailable"],
])("%d %j is the error %s", async (code, message, expected) => {
  expect(await failing(problem(code, message))).toMatchObject({ code: expected });
});

describe.each(wires)("what goes wrong on the way, over the wire %s", (wire) => {
  const short = reply(think("h"), say("é", "b"), call("Read", { path: "a" }));
  const whole = { text: "éb", calls: 1 };

  /** The outcome of a reply that may be cut: all of it, or a retryable error and nothing else. */
  async function outcome(entry: Entry) {
    await using server = await startModelServer([entry]);
    return await outcomeOf(connectTo(server.url, wire));
  }

  async function outcomeOf(model: Model) {
    try {
      return summary(await converse(model));
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
      return { code: error.code, retryable: error.retryable };
    }
  }

  function summary(events: readonly ModelEvent[]) {
    expect(events.at(-1)?.type).toBe("end");
    const text = events.map((event) => (event.type === "text" ? event.text : "")).join("");
    return { text, calls: events.filter((event) => event.type === "call").length };
  }

  const broken = { code: "stream", retryable: true } as const;
  /** The frames, and at most the bytes, that follow the finish reason: a reply is complete without them. */
  const afterFinish = {
    chat: { frames: 2, bytes: 600 },
    responses: { frames: 0, bytes: 3 },
    messages: { frames: 1, bytes: 60 },
  } as const;

  test.each<Ending>(["end", "fin", "rst"])(
    "a stream cut at any frame by %s is an error or whole, never half",
    async (how) => {
      const frames = framesIn(short, wire);
      for (let count = 0; count < frames; count++) {
        const result = await outcome(cut(short, { frames: count }, how));
        // A reply may be complete with its finish reason: only figures and the goodbye come after it.
        const complete = count >= frames - afterFinish[wire].frames && how === "end";
        if (complete) expect(result).toEqual(whole);
        else expect([broken, whole]).toContainEqual(result as typeof broken);
        if (count < frames - afterFinish[wire].frames) expect(result).toEqual(broken);
      }
      expect(await outcome(short)).toEqual(whole);
    },
  );

  test("a stream cut at any byte is an error or whole, never half", async () => {
    const all = bytesOf(reply(say("éb"), call("Read", {})), wire);
    const tail = afterFinish[wire].bytes;
    const results: unknown[] = [];
    // Thousands of streams: straight into the reader, without a socket for each.
    for (let count = 0; count < all.length; count++) {
      const fetch = async () => new Response(all.slice(0, count), { headers: { "content-type": "text/event-stream" } });
      results.push(await outcomeOf(connectTo("http://127.0.0.1:1/v1", wire, { fetch })));
    }
    for (const result of results.slice(0, -tail)) expect(result).toEqual(broken);
    for (const result of results.slice(-tail)) expect([broken, whole]).toContainEqual(result as typeof broken);
  }, 20_000);

  test.each<Ending>(["fin", "rst"])("a connection that ends by %s before it answered is retryable", async (how) => {
    const error = await failing(() => [{ type: "end", how }], wire);
    expect(error).toMatchObject({ retryable: true });
    expect(["network", "stream"]).toContain(error.code);
  });

  test("text that was shown before the cut was shown once", async () => {
    const arrived = Promise.withResolvers<void>();
    const entry = cut(reply(say("shown"), wait(arrived.promise), say("x")), { frames: wire === "chat" ? 2 : 4 });
    await using server = await startModelServer([entry]);
    const events: ModelEvent[] = [];
    const read = async () => {
      for await (const event of eventsOf(connectTo(server.url, wire)(hello, new AbortController().signal))) {
        events.push(event);
        arrived.resolve();
      }
    };
    await expect(read()).rejects.toMatchObject({ code: "stream", retryable: true });
    expect(events).toEqual([{ type: "text", text: "shown" }]);
  });

  test("silence before the headers is an error after its limit", async () => {
    const error = await failing(hang(), wire, { streamIdleMs: 30 });
    expect(error).toMatchObject({ code: "silence", retryable: true });
    expect(error.message).toContain("sent nothing for 30ms");
  });

  test("silence within the stream is an error after its limit, and the connection is closed", async () => {
    await using server = await startModelServer([reply(say("a"), silence())]);
    const error = await errorOf(connectTo(server.url, wire, { streamIdleMs: 300 }));
    expect(error).toMatchObject({ code: "silence", retryable: true });
    expect(await server.requests[0]?.ended).toBe("gone");
  });

  test.concurrent("signs of life without a word of the reply are silence in the end", async () => {
    const signs = [': keep-alive\n\nevent: ping\ndata: {"type": "ping"}\n\n', wait(() => Bun.sleep(20))];
    await using server = await startModelServer([raw(Array.from({ length: 300 }, () => signs).flat())]);
    const error = await errorOf(connectTo(server.url, wire, { streamIdleMs: 400 }));
    expect(error).toMatchObject({ code: "silence", retryable: true, maxRetries: 1 });
    expect(error.message).toContain("sent only signs of life for 2400ms");
    expect(await server.requests[0]?.ended).toBe("gone");
  });

  test.concurrent("a slow stream that is never silent for long is no silence", async () => {
    const slow = reply(...["a", "b", "c", "d", "e", "f"].flatMap((word) => [say(word), wait(() => Bun.sleep(250))]));
    await using server = await startModelServer([slow]);
    const events = await converse(connectTo(server.url, wire, { streamIdleMs: 1_200 }));
    expect(summary(events)).toEqual({ text: "abcdef", calls: 0 });
  });

  test.each([
    ["not JSON", "data: {oops\n\n"],
    ["not an object", "data: 42\n\n"],
    ["JSON without its end", 'data: {"a":\n\n'],
  ])("a frame that is %s is a retryable error that shows it", async (_name, frame) => {
    const error = await failing(raw([frame]), wire);
    expect(error).toMatchObject({ code: "stream", retryable: true });
  });

  test.each([
    ["nothing", []],
    ["plain words", ["upstream connect error"]],
    ["comments only", [": ping\n\n", ": ping\n\n"]],
    ["[DONE] at once", ["data: [DONE]\n\n"]],
  ])("a stream of %s is a retryable error", async (_name, frames) => {
    expect(await outcome(raw(frames))).toEqual(broken);
  });

  test("the wrong content type does not matter when the stream is right", async () => {
    await using server = await startModelServer([
      (asked) => {
        const [, ...steps] = short(asked);
        return [{ type: "head", status: 200, headers: { "content-type": "text/plain" } }, ...steps];
      },
    ]);
    expect(summary(await converse(connectTo(server.url, wire)))).toEqual(whole);
  });

  test("a page that drips in is still a page", async () => {
    const page = status(200, "<html><title>Gateway</title></html>", { "content-type": "text/html" });
    expect(await outcome(drip(page))).toEqual({ code: "request", retryable: false } as never);
  });

  test("no server listens", async () => {
    const url = await refusingUrl();
    const error = await errorOf(connectTo(url, wire));
    expect(error).toMatchObject({
      code: "network",
      retryable: true,
      message: `No server listens at ${url}: connection refused`,
    });
  });
});

describe("an error in mid-stream", () => {
  test("comes after everything that came before it, also when both arrive together", async () => {
    const both = `${chatChunk({ content: "a" })}${chatChunk({ content: "b" })}data: {"error":"overloaded"}\n\n`;
    await using server = await startModelServer([raw([both])]);
    const events: ModelEvent[] = [];
    const read = async () => {
      for await (const event of eventsOf(connectTo(server.url, "chat")(hello, new AbortController().signal)))
        events.push(event);
    };
    await expect(read()).rejects.toMatchObject({ code: "overloaded" });
    expect(events).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ]);
  });

  test.each<[string, string, ErrorCode, boolean]>([
    ["an error object", `data: {"error":{"message":"Rate limit exceeded","code":429}}\n\n`, "rate_limit", true],
    ["an error as text", `data: {"error":"model overloaded"}\n\n`, "overloaded", true],
    ["a server's own form", `data: {"object":"error","message":"prompt is too long","code":400}\n\n`, "context", false],
    [
      "an event named error",
      `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n`,
      "overloaded",
      true,
    ],
    ["something unknown", `data: {"error":{"message":"Something happened"}}\n\n`, "stream", true],
  ])("may be %s", async (_name, frame, code, retryable) => {
    const error = await failing(raw([chatChunk({ content: "a" }), frame]));
    expect(error).toMatchObject({ code, retryable });
  });

  test.each<[string, object, ErrorCode, boolean]>([
    ["a rate limit", { code: "rate_limit_exceeded", message: "Please try again in 2s" }, "rate_limit", true],
    ["a full context", { code: "context_length_exceeded", message: "too long" }, "context", false],
    ["a spent quota", { code: "insufficient_quota", message: "check your plan" }, "quota", false],
    ["the server's fault", { code: "server_error", message: "An error occurred" }, "unavailable", true],
    ["the content", { code: "content_policy_violation", message: "no" }, "content_policy", false],
    ["a bad prompt", { code: "invalid_prompt", message: "no" }, "request", false],
    ["invalid_base64_image", { code: "invalid_base64_image", message: "No" }, "invalid_image", false],
    ["image_file_too_large", { code: "image_file_too_large", message: "No" }, "invalid_image", false],
    ["unsupported_image_media_type", { code: "unsupported_image_media_type" }, "invalid_image", false],
    ["image_content_policy_violation", { code: "image_content_policy_violation" }, "content_policy", false],
  ])("may be a failed response: %s", async (_name, fault, code, retryable) => {
    const failed = responsesEvent("response.failed", { response: { status: "failed", error: fault } });
    const error = await failing(raw([failed]), "responses");
    expect(error).toMatchObject({ code, retryable });
    if (code === "rate_limit") expect(error.retryAfterMs).toBe(2000);
  });

  test("may be an event of its own", async () => {
    const event = responsesEvent("error", { code: "server_error", message: "Internal", param: null });
    expect(await failing(raw([event]), "responses")).toMatchObject({ code: "unavailable", retryable: true });
  });
});
