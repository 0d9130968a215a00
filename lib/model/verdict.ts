import type { ErrorCode } from "../errors.ts";
import type { Said } from "./said.ts";

/** What a provider's refusal means for the run. */
export function codeOf(status: number | undefined, { message, codes }: Said): ErrorCode {
  const text = `${codes} ${message}`;
  const rule = rules.find(({ statuses, words }) => statuses?.(status) !== false && words?.test(text) !== false);
  if (rule !== undefined) return rule.code;
  return status === undefined ? "stream" : "request";
}

type Rule = { code: ErrorCode; statuses?: (status: number | undefined) => boolean; words?: RegExp };

const is =
  (...expected: number[]) =>
  (status: number | undefined) =>
    status !== undefined && expected.includes(status);
/** The request is at fault, or nobody says who is: an error within a stream has no status. */
const notTheServers = (status = 400) => status < 500;
const theServers = (status = 0) => status >= 500;

/**
 * The first rule that fits both the status and the words. Words come first where one status stands for several things:
 * a 429 may be a spent budget, a 400 a full context window.
 */
const rules: readonly Rule[] = [
  { code: "quota", statuses: is(402) },
  {
    code: "quota",
    statuses: notTheServers,
    words:
      /quota|insufficient[_ ](?:balance|credits?|funds)|credit balance|billing_?(?:hard|not|error)|out of credits/i,
  },
  { code: "overloaded", statuses: is(529) },
  { code: "rate_limit", statuses: is(429) },
  {
    code: "context",
    statuses: notTheServers,
    words:
      /context[_ ](?:length|window|size)|maximum context|(?:prompt|input|request|conversation) (?:is |was )?too (?:long|large)|too many (?:input |prompt )?tokens|input token count|exceeds? the (?:maximum|max|limit).{0,40}tokens|tokens? (?:exceed|limit exceeded)|reduce the length/i,
  },
  { code: "context", statuses: is(413) },
  {
    code: "content_policy",
    statuses: (status) => notTheServers(status) && status !== 401,
    words:
      /content[_ ](?:policy|filter|management)|policy_violation|safety (?:system|policy|settings)|usage polic|was flagged|moderation|inspection_failed/i,
  },
  { code: "credentials", statuses: is(401, 403) },
  {
    code: "credentials",
    statuses: is(400),
    words: /api[_ ]key[_ ](?:not[_ ]valid|invalid)|invalid[_ ]api[_ ]key/i,
  },
  {
    code: "images",
    words:
      /image_url|input_image|image input|mmproj|not a multi-?modal|not support (?:images?|vision|multi-?modal)|images? (?:is|are) not supported/i,
  },
  { code: "model_not_found", statuses: is(404) },
  {
    code: "model_not_found",
    statuses: notTheServers,
    words:
      /model_not_found|model .{0,80}(?:does not exist|not found|is not supported)|not a valid model|unknown model/i,
  },
  { code: "overloaded", words: /overloaded/i },
  { code: "rate_limit", statuses: notTheServers, words: /rate[_ ]limit[_ ](?:exceeded|error)|too_many_requests/i },
  { code: "unavailable", statuses: is(408, 409) },
  { code: "unavailable", statuses: theServers },
  { code: "unavailable", words: /server_error|internal_error|api_error|timeout_error|unavailable/i },
  { code: "request", words: /invalid_(?:request|prompt|value|type)|unsupported_/i },
];
