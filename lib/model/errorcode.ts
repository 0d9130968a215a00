import type { ErrorCode } from "../errors.ts";
import type { ErrorBody } from "./errorbody.ts";

/** The error code for a provider's error; an error within a stream may have no status. */
export function errorCodeOf(status: number | undefined, { message, codes }: ErrorBody): ErrorCode {
  const text = `${codes} ${message}`;
  const rule = rules.find(
    ({ statuses, words }) => statuses?.(status) !== false && (words?.some((pattern) => pattern.test(text)) ?? true),
  );
  if (rule !== undefined) return rule.code;
  return status === undefined ? "stream" : "request";
}

/** `words` are alternatives. */
type Rule = { code: ErrorCode; statuses?: (status: number | undefined) => boolean; words?: readonly RegExp[] };

const is =
  (...expected: number[]) =>
  (status: number | undefined) =>
    status !== undefined && expected.includes(status);
const isClientError = (status = 400) => status < 500;
const isUnknown = (status: number | undefined) => status === undefined;
const isServerError = (status = 0) => status >= 500;

/**
 * The first rule that matches both status and words wins. Rules with words come first where a status has several
 * causes: a 429 may be a used-up budget, a 400 a full context window.
 */
const rules: readonly Rule[] = [
  { code: "quota", statuses: is(402) },
  {
    code: "quota",
    statuses: isClientError,
    words: [
      /insufficient[_ ](?:balance|quota|credits?|funds)|any credits|available credits|credit balance|out of credits/i,
      /billing_?(?:hard|not|error)|spending limit|API usage limits|PerDay|package has expired/i,
      /arrearage|in good standing|^1113\b|past due|overdue|usage limit for this billing/i,
    ],
  },
  { code: "overloaded", statuses: is(498, 529) },
  {
    code: "overloaded",
    statuses: is(429),
    words: [/overloaded|high traffic|queue_exceeded|capacity[_ ]exceeded/i],
  },
  { code: "context", statuses: is(429), words: [/request too large/i] },
  {
    code: "rate_limit",
    statuses: is(429),
    words: [/rate[_ ]?limit|per[_ ]?minute|throttling|too_many_requests|\(e\.g\. check quota\)/i],
  },
  { code: "quota", statuses: isClientError, words: [/quota/i] },
  { code: "rate_limit", statuses: is(429) },
  {
    code: "region",
    statuses: isClientError,
    words: [
      /unsupported_country|unsupported countr|countr(?:y|ies)\b.{0,40}\bnot (?:supported|available|allowed)/i,
      /location is not supported|not (?:supported|available) in your (?:country|region|location)/i,
      /check your network settings|forbidden request not allowed/i,
    ],
  },
  {
    code: "invalid_image",
    statuses: (status = 400) => is(400, 413, 415, 422)(status),
    words: [
      /invalid[_ ](?:base64_|data url for )?image(?!_url| input)|unsupported[_ ]image(?! input)|invalid base64/i,
      /image_parse_error|empty_image_file/,
      /not (?:represent )?a valid image|image is (?:not valid|invalid|corrupt)/i,
      /(?:could not|cannot|unable to|failed to) (?:process|identify|load|decode|read) (?:the |an |input |provided )*image/i,
      /image(?:[ _][a-z]+){0,2}[ _](?:exceeds?|too[ _](?:large|small|big))/i,
      /image\.source\.base64|image does not match|(?:mime|media) type.{0,20} image/i,
    ],
  },
  {
    code: "context",
    statuses: isClientError,
    words: [
      /context[_ ](?:length|window|size|limit)|maximum (?:context|prompt)|reduce the length|range of input length/i,
      /(?:prompt|input|request|conversation) (?:is |was )?too (?:long|large)|request_too_large/i,
      /too many (?:input |prompt )?tokens|input token count|tokens? (?:exceed|limit exceeded)/i,
      /exceeds? the (?:maximum|max|limit).{0,40}tokens|exceeds max length|model token limit/i,
      /`max_new_tokens` must be <=/,
    ],
  },
  { code: "context", statuses: is(413) },
  {
    code: "content_policy",
    statuses: (status) => isClientError(status) && status !== 401,
    words: [
      /content[_ ](?:policy|filter|management)|policy_violation|safety (?:system|policy|settings)/i,
      /usage (?:polic|guidelines)|was flagged|moderation|data_?inspection_?failed/i,
      /content exists risk|considered high risk|unsafe or sensitive/i,
    ],
  },
  { code: "model_not_found", statuses: is(403), words: [/model_not_found/] },
  { code: "credentials", statuses: is(401, 403) },
  {
    code: "credentials",
    statuses: is(400),
    words: [/api[_ ]key[_ ](?:not[_ ]valid|invalid)|(?:invalid|incorrect)[_ ]api[_ ]key/i],
  },
  { code: "credentials", statuses: isUnknown, words: [/(?:authentication|permission)_error/] },
  {
    code: "images",
    words: [
      /image_url|input_image|image input|images? (?:is|are) not supported/i,
      /mmproj|not a multi-?modal|not support (?:images?|vision|multi-?modal)/i,
    ],
  },
  { code: "request", statuses: is(404), words: [/no endpoints found (?:that|matching)/i] },
  { code: "model_not_found", statuses: is(404) },
  {
    code: "model_not_found",
    statuses: isClientError,
    words: [
      /model_not_found|not_found_error|not a valid model|(?:unknown|invalid) model|model not exist/i,
      /model .{0,80}(?:does not exist|not found|is not supported(?! with)|decommissioned)/i,
      /model identifier is invalid|on-demand throughput|no models loaded|not allowed to use publisher model/i,
      /model_not_available|dedicated_endpoint_not_running/,
    ],
  },
  { code: "overloaded", words: [/overloaded|high demand/i] },
  { code: "rate_limit", statuses: isClientError, words: [/rate[_ ]limit[_ ](?:exceeded|error)|too_many_requests/i] },
  { code: "unavailable", statuses: is(408, 409) },
  { code: "request", statuses: isServerError, words: [/requires more system memory/i] },
  { code: "unavailable", statuses: isServerError },
  { code: "unavailable", statuses: isUnknown, words: [/api_error/i] },
  {
    code: "unavailable",
    statuses: (status = 400) => status === 400,
    words: [/server_error|internal_error|timeout_error|unavailable/i],
  },
  { code: "request", words: [/invalid_(?:request|prompt|value|type|encrypted_content)|unsupported_/i] },
];
