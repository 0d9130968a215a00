import { describe, expect, test } from "bun:test";
import { type ErrorCode, exitByCode } from "../../lib/errors.ts";
import { connectModel } from "../../lib/model/connect.ts";
import { failureOf } from "../support/failure.ts";
import { converse } from "../support/model-connection.ts";
import { type Entry, raw, status } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { chatChunk } from "../support/model-wire.ts";
import table from "./providererrors.jsonl" with { type: "text" };

/**
 * An error in a provider's form. `source` is a page of documentation or a thread that shows this body, or its status
 * and its words; `public code` when only repositories quote it, or null. `says` is in the message: the provider's
 * words, or what to do.
 */
type Row = {
  provider: string;
  what: string;
  source: string | null;
  status: number;
  headers?: Record<string, string>;
  retryAfterMs?: number;
  code: ErrorCode;
  exit: number;
  says: string;
  body: unknown;
};

const rows = table
  .trimEnd()
  .split("\n")
  .map((line): Row => JSON.parse(line));

async function failing(name: string, entry: Entry) {
  await using server = await startModelServer([entry]);
  const variable = `${name.toUpperCase()}_API_KEY`;
  const provider = { name, baseUrl: server.url, keys: [variable], wire: "chat" as const };
  const model = connectModel({
    provider,
    info: { provider: name, name: "scripted", wire: "chat", contextWindow: 128_000, images: true },
    key: { value: "private-key-of-the-test", variable },
    settings: { temperature: 0.2, reasoningEffort: "high", maxOutputTokens: 200_000 },
    streamIdleMs: 10_000,
    userAgent: "koda/test",
    retry: { max: 0, waitLimitMs: 0, random: () => 0.5, wait: async () => {} },
  });
  return await failureOf(converse(model));
}

const unsourced = rows.filter(({ source }) => source === null);
const quoted = rows.filter(({ source }) => source === "public code");

/** These limits may only go down. */
test(`${unsourced.length} of ${rows.length} bodies have no source, ${quoted.length} are quoted in code alone`, () => {
  expect(unsourced.length).toBeLessThanOrEqual(10);
  expect(quoted.length).toBeLessThanOrEqual(14);
  for (const { source } of rows) expect(source ?? "public code").toMatch(/^(https:\/\/[^ ]+|public code)$/);
});

describe("the error of", () => {
  test.each(rows.map((row) => [row.provider, row.what, row] as const))("%s: %s", async (provider, _what, row) => {
    const { code, message, httpStatus, retryAfterMs } = await failing(
      provider,
      status(row.status, row.body, row.headers),
    );
    expect({ code, httpStatus }).toEqual({ code: row.code, httpStatus: row.status });
    expect<number>(exitByCode[code]).toBe(row.exit);
    expect(message).toContain(row.says);
    if (row.retryAfterMs !== undefined) expect(retryAfterMs).toBeWithin(row.retryAfterMs - 1000, row.retryAfterMs + 1);
  });
});

test.each<[type: string, message: string, code: ErrorCode]>([
  ["overloaded_error", "Overloaded", "overloaded"],
  ["rate_limit_error", "Number of request tokens has exceeded your rate limit", "rate_limit"],
  ["api_error", "Internal server error", "unavailable"],
  ["invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context"],
  ["authentication_error", "invalid x-api-key", "credentials"],
  ["permission_error", "Your account does not have access to this model", "credentials"],
  ["not_found_error", "model: claude-9", "model_not_found"],
  ["request_too_large", "Request exceeds the maximum size", "context"],
  ["billing_error", "Your credit balance is too low", "quota"],
])("Anthropic's %s within a stream", async (type, message, code) => {
  const frame = `event: error\ndata: ${JSON.stringify({ type: "error", error: { type, message } })}\n\n`;
  const error = await failing("anthropic", raw([chatChunk({ content: "a" }), frame]));
  expect(error).toMatchObject({ code });
  expect(error.message).toContain(message);
});

test("encrypted thoughts that OpenAI refuses within a stream are refused again by every attempt", async () => {
  const error = {
    code: "invalid_encrypted_content",
    message: "The encrypted content gAAA...DQ== could not be verified.",
  };
  const refused = await failing("openai", raw([`data: ${JSON.stringify({ error })}\n\n`]));
  expect(refused).toMatchObject({ code: "request", retryable: false });
});
