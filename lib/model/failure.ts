import { errnoOf, type ErrorCode, KodaError, messageOf } from "../errors.ts";
import { isRecord, type JsonRecord, parseJson, recordIn, recordOf, stringIn } from "./json.ts";
import { askedDelay } from "./patience.ts";
import type { ApiKey, Provider } from "./providers.ts";

/** Who was asked for what: every message says it. */
export type Origin = { provider: Provider; model: string; key?: ApiKey | undefined };

/** The error of a response that is not a stream: what the provider said, and what it means for the run. */
export function refused(response: { status: number; headers: Headers }, body: string, origin: Origin): KodaError {
  const { status, headers } = response;
  if (status >= 300 && status < 400) return redirected(status, headers.get("location"), origin);
  const said = reading(body);
  const code = codeOf(status, said);
  return failure(code, { ...said, status, retryAfterMs: askedDelay(headers, said.message) }, origin);
}

/** The error that a provider reports in the middle of its stream, or in a body that says 200. */
export function reported(error: unknown, origin: Origin): KodaError {
  const said = describe(error);
  const status = statusIn(error);
  const code = codeOf(status, said);
  return failure(code, { ...said, status, retryAfterMs: askedDelay(new Headers(), said.message) }, origin);
}

/** The error of a connection that did not come about, or broke. */
export function unconnected(error: unknown, origin: Origin, { started }: { started: boolean }): KodaError {
  const reason = reasonOf(error);
  const untrusted = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/.test(reason);
  const url = origin.provider.baseUrl;
  const details = { retryable: !untrusted, cause: error };
  if (started)
    return new KodaError("stream", `The connection to ${url} broke in the middle of the reply: ${reason}`, details);
  const hint = origin.provider.local ? ` (is ${origin.provider.name} running?)` : "";
  return new KodaError("network", `Cannot connect to ${url}: ${reason}${hint}`, details);
}

/** Nothing that looks like the key, no control characters, and no more than a few lines of it. */
export function trimmed(text: string, key: ApiKey | undefined): string {
  const bare = key === undefined ? text : text.replaceAll(key.value, "[key]");
  const clean = bare
    .replace(keyLike, "[key]")
    .replace(/[\p{Cc}\p{Cf}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  return clean.length > longestMessage ? `${clean.slice(0, longestMessage)}…` : clean;
}

const longestMessage = 600;
/** Also the half-hidden form in which a provider repeats it: `sk-proj-****abcd`. */
const keyLike = /\b(?:sk|pk|rk|xai|gsk|fw|tgp|key|AIza)[-_*][\w*.-]{6,}|\bAIza[\w-]{20,}|\bBearer\s+[\w.~+/=*-]{6,}/g;

/** What a provider said: its words, and its own codes for it in one string to search in. */
type Said = { message: string; codes: string };
type Details = Said & { status: number | undefined; retryAfterMs: number | undefined };

function failure(code: ErrorCode, { message, status, retryAfterMs }: Details, origin: Origin): KodaError {
  const said = trimmed(message, origin.key);
  return new KodaError(code, sentence(code, { said, status }, origin), {
    retryable: retryableCodes.has(code),
    ...(status !== undefined && { httpStatus: status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

const retryableCodes: ReadonlySet<ErrorCode> = new Set(["rate_limit", "unavailable", "overloaded", "stream"]);

function codeOf(status: number | undefined, { message, codes }: Said): ErrorCode {
  const text = `${codes} ${message}`;
  for (const rule of rules) {
    if (
      (rule.statuses === undefined || (status !== undefined && rule.statuses(status))) &&
      rule.words?.test(text) !== false
    ) {
      return rule.code;
    }
  }
  return status === undefined ? "stream" : "request";
}

/**
 * The first rule that fits both the status and the words. Words come first where one status stands for several things:
 * a 429 may be a spent budget, a 400 a full context window.
 */
const rules: readonly { code: ErrorCode; statuses?: (status: number) => boolean; words?: RegExp }[] = [
  { code: "quota", statuses: (status) => status === 402 },
  {
    code: "quota",
    statuses: (status) => status < 500,
    words:
      /quota|insufficient[_ ](?:balance|credits?|funds)|credit balance|billing_?(?:hard|not|error)|out of credits/i,
  },
  { code: "quota", words: /insufficient_quota/i },
  { code: "overloaded", statuses: (status) => status === 529 },
  { code: "rate_limit", statuses: (status) => status === 429 },
  {
    code: "context",
    statuses: (status) => status < 500,
    words:
      /context[_ ](?:length|window|size)|maximum context|(?:prompt|input|request|conversation) (?:is |was )?too (?:long|large)|too many (?:input |prompt )?tokens|input token count|exceeds? the (?:maximum|max|limit).{0,40}tokens|tokens? (?:exceed|limit exceeded)|reduce the length/i,
  },
  { code: "context", words: /context_length_exceeded/i },
  { code: "context", statuses: (status) => status === 413 },
  {
    code: "content_policy",
    statuses: (status) => status < 500 && status !== 401,
    words:
      /content[_ ](?:policy|filter|management)|policy_violation|safety (?:system|policy|settings)|usage polic|was flagged|moderation|inspection_failed/i,
  },
  { code: "credentials", statuses: (status) => status === 401 || status === 403 },
  {
    code: "credentials",
    statuses: (status) => status === 400,
    words: /api[_ ]key[_ ](?:not[_ ]valid|invalid)|invalid[_ ]api[_ ]key/i,
  },
  { code: "model_not_found", statuses: (status) => status === 404 },
  {
    code: "model_not_found",
    statuses: (status) => status < 500,
    words:
      /model_not_found|model .{0,80}(?:does not exist|not found|is not supported)|not a valid model|unknown model/i,
  },
  { code: "overloaded", words: /overloaded/i },
  { code: "rate_limit", statuses: (status) => status < 500, words: /rate[_ ]limit[_ ]exceeded|too_many_requests/i },
  { code: "rate_limit", words: /rate_limit_(?:exceeded|error)|too_many_requests/i },
  { code: "unavailable", statuses: (status) => status === 408 || status === 409 || status >= 500 },
  { code: "unavailable", words: /server_error|internal_error|api_error|timeout_error|unavailable/i },
  { code: "request", words: /invalid_(?:request|prompt|value|type)|unsupported_/i },
];

function sentence(
  code: ErrorCode,
  { said, status }: { said: string; status: number | undefined },
  origin: Origin,
): string {
  const { provider, model, key } = origin;
  const quoted = [status, said && `"${said}"`].filter((part) => part !== undefined && part !== "").join(" ");
  const because = quoted === "" ? "" : `: ${quoted}`;
  switch (code) {
    case "credentials":
      if (key === undefined) return `${provider.name} wants a key, and none is set${because}${keyHint(provider)}`;
      return `${provider.name} refused the key in ${key.variable}${because}`;
    case "model_not_found":
      return `${provider.name} has no model "${model}" at ${provider.baseUrl}${because}`;
    case "context":
      return `The conversation is too long for ${provider.name}/${model}${because}`;
    case "content_policy":
      return `${provider.name} refused the content of the conversation${because}`;
    case "quota":
      return `The quota at ${provider.name} is used up${because}`;
    case "rate_limit":
      return `${provider.name} limits the rate of requests${because}`;
    case "overloaded":
      return `${provider.name} is overloaded${because}`;
    case "unavailable":
      return `${provider.name} is unavailable${because}`;
    case "stream":
      return `${provider.name} broke off its reply${because}`;
    default:
      return `${provider.name} did not accept the request${because}`;
  }
}

function keyHint(provider: Provider): string {
  const names = provider.keys.join(" or ");
  return names === "" ? "; name the variable that holds it with --api-key-env" : `; set ${names}`;
}

function redirected(status: number, target: string | null, { provider, key }: Origin): KodaError {
  const where = target === null ? "somewhere else" : `to "${trimmed(target, key)}"`;
  const message = `${provider.baseUrl} redirects ${where} (${status}), and a key is sent to no other address: set the base URL to the one that is meant`;
  return new KodaError("request", message, { httpStatus: status });
}

function reading(body: string): Said {
  const value = parseJson(body);
  if (value !== undefined) return describe(value);
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(body)?.[1];
  const text = title ?? (/<\w+[^>]*>/.test(body) ? body.replace(/<(style|script)[\s\S]*?<\/\1>|<[^>]+>/gi, " ") : body);
  return { message: text, codes: "" };
}

/** Finds the words in the shapes that providers put them in: error.message, detail, a list of errors, plain text. */
function describe(value: unknown): Said {
  if (typeof value === "string") return { message: value, codes: "" };
  if (Array.isArray(value)) return describe(value[0]);
  if (!isRecord(value)) return { message: "", codes: "" };
  for (const key of ["error", "errors", "detail"]) {
    if (value[key] !== undefined && value[key] !== null) return withCodes(describe(value[key]), value);
  }
  const message = stringIn(value, "message") ?? stringIn(value, "msg") ?? JSON.stringify(value);
  const upstream = stringIn(recordIn(value, "metadata"), "raw");
  return withCodes({ message: upstream === undefined ? message : `${message}: ${upstream}`, codes: "" }, value);
}

function withCodes(said: Said, record: JsonRecord): Said {
  const own = [record.code, record.type, record.status].filter((code) => typeof code === "string");
  return { ...said, codes: [said.codes, ...own].join(" ").trim() };
}

/** The HTTP status that an error in a stream would have had. */
function statusIn(error: unknown): number | undefined {
  const record = recordOf(error);
  const candidates = [record.status, record.code, recordIn(record, "error").code].map(Number);
  return candidates.find((status) => Number.isInteger(status) && status >= 400 && status < 600);
}

function reasonOf(error: unknown): string {
  const code = errnoOf(error);
  return (code && reasons[code]) ?? code ?? messageOf(error);
}

const reasons: Readonly<Record<string, string>> = {
  ConnectionRefused: "connection refused",
  ECONNREFUSED: "connection refused",
  ConnectionClosed: "the connection was closed",
  ECONNRESET: "the connection was closed",
  ENOTFOUND: "no such host",
  ETIMEDOUT: "it timed out",
};
