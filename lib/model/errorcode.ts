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
      /quota|insufficient[_ ](?:balance|credits?|funds)/i,
      /credit balance|billing_?(?:hard|not|error)|out of credits/i,
    ],
  },
  { code: "overloaded", statuses: is(529) },
  { code: "rate_limit", statuses: is(429) },
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
      /context[_ ](?:length|window|size)|maximum context|reduce the length/i,
      /(?:prompt|input|request|conversation) (?:is |was )?too (?:long|large)/i,
      /too many (?:input |prompt )?tokens|input token count|tokens? (?:exceed|limit exceeded)/i,
      /exceeds? the (?:maximum|max|limit).{0,40}tokens/i,
    ],
  },
  { code: "context", statuses: is(413) },
  {
    code: "content_policy",
    statuses: (status) => isClientError(status) && status !== 401,
    words: [
      /content[_ ](?:policy|filter|management)|policy_violation|safety (?:system|policy|settings)/i,
      /usage polic|was flagged|moderation|inspection_failed/i,
    ],
  },
  { code: "credentials", statuses: is(401, 403) },
  {
    code: "credentials",
    statuses: is(400),
    words: [/api[_ ]key[_ ](?:not[_ ]valid|invalid)|invalid[_ ]api[_ ]key/i],
  },
  {
    code: "images",
    words: [
      /image_url|input_image|image input|images? (?:is|are) not supported/i,
      /mmproj|not a multi-?modal|not support (?:images?|vision|multi-?modal)/i,
    ],
  },
  { code: "model_not_found", statuses: is(404) },
  {
    code: "model_not_found",
    statuses: isClientError,
    words: [
      /model_not_found|not a valid model|unknown model/i,
      /model .{0,80}(?:does not exist|not found|is not supported)/i,
    ],
  },
  { code: "overloaded", words: [/overloaded/i] },
  { code: "rate_limit", statuses: isClientError, words: [/rate[_ ]limit[_ ](?:exceeded|error)|too_many_requests/i] },
  { code: "unavailable", statuses: is(408, 409) },
  { code: "unavailable", statuses: isServerError },
  { code: "unavailable", words: [/server_error|internal_error|api_error|timeout_error|unavailable/i] },
  { code: "request", words: [/invalid_(?:request|prompt|value|type)|unsupported_/i] },
];
