import { arrayIn, isRecord, type JsonRecord, parseJson, recordIn, recordOf, stringIn } from "../config/json.ts";
import { maskKeys } from "../config/mask.ts";

/** An error as a provider words it. */
export type ErrorBody = {
  message: string;
  /** Its own codes in one string. */
  codes: string;
  /** The parameter that it names as the wrong one. */
  param?: string;
  /** Headers that the body repeats or stands for, by lower-case name. */
  headers?: readonly (readonly [name: string, value: string])[];
};

/** The body of an error response: JSON, text or a page. */
export function parseErrorBody(body: string): ErrorBody {
  const value = parseJson(body);
  if (value !== undefined) return errorBodyOf(value);
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(body)?.[1];
  const text = title ?? (/<\w+[^>]*>/.test(body) ? body.replace(/<(style|script)[\s\S]*?<\/\1>|<[^>]+>/gi, " ") : body);
  return { message: text, codes: "" };
}

/** Finds the message where providers put it: error.message, detail, a list of errors, JSON in a text, plain text. */
export function errorBodyOf(value: unknown): ErrorBody {
  if (typeof value === "string") return /^\s*[{[]/.test(value) ? bodyOfText(value) : { message: value, codes: "" };
  if (Array.isArray(value)) return errorBodyOf(value[0]);
  if (!isRecord(value)) return { message: "", codes: "" };
  for (const key of ["error", "errors", "detail"]) {
    if (value[key] !== undefined && value[key] !== null) return withCodes(errorBodyOf(value[key]), value);
  }
  const { message = value.Message } = value;
  const body = isRecord(message) || typeof message === "string" ? errorBodyOf(message) : fieldError(value);
  return withCodes(withUpstream(body, value), value);
}

function bodyOfText(text: string): ErrorBody {
  const value = parseJson(text);
  return value === undefined ? { message: text, codes: "" } : errorBodyOf(value);
}

/** An entry of a list of wrong fields, with the path of the field. */
function fieldError(record: JsonRecord): ErrorBody {
  const message = stringIn(record, "msg");
  if (message === undefined) return { message: JSON.stringify(record), codes: "" };
  const path = arrayIn(record, "loc").join(".");
  return { message: path === "" ? message : `${message}: ${path}`, codes: "" };
}

/** OpenRouter adds the error of the provider behind it: its text, or a record that has its text as `data`. */
function withUpstream(body: ErrorBody, record: JsonRecord): ErrorBody {
  const { raw } = recordIn(record, "metadata");
  if (raw === undefined || raw === null) return body;
  const upstream = errorBodyOf(stringIn(recordOf(raw), "data") ?? raw);
  return { message: `${body.message}: ${upstream.message}`, codes: `${body.codes} ${upstream.codes}` };
}

function withCodes(body: ErrorBody, record: JsonRecord): ErrorBody {
  const own = [record.code, record.type, record.status].filter((code) => typeof code === "string");
  const details = arrayIn(record, "details").map(recordOf);
  const reasons = details.flatMap((detail) => [detail, ...arrayIn(detail, "violations").map(recordOf)]);
  const named = reasons.flatMap(({ reason, quotaId }) => [reason, quotaId]).filter((code) => typeof code === "string");
  const headers = [...(body.headers ?? []), ...headersIn(record), ...delaysIn(details)];
  const param = body.param ?? stringIn(record, "param");
  return {
    ...body,
    codes: [body.codes, ...own, ...named].join(" ").trim(),
    ...(param !== undefined && { param }),
    ...(headers.length > 0 && { headers }),
  };
}

/** Google's delay, as in "retryDelay": "26s". */
function delaysIn(details: readonly JsonRecord[]): (readonly [string, string])[] {
  return details.flatMap(({ retryDelay }) =>
    typeof retryDelay === "string" ? [["retry-after", retryDelay] as const] : [],
  );
}

/** OpenRouter repeats the headers of its own limits, and OpenAI's subscriptions have fields in place of some. */
function headersIn(record: JsonRecord): (readonly [string, string])[] {
  const repeated = Object.entries(recordIn(recordIn(record, "metadata"), "headers"));
  const fields = Object.entries(headerOfField).map(([field, header]) => [header, record[field]] as const);
  return [...repeated, ...fields].flatMap(([name, value]) =>
    typeof value === "string" || typeof value === "number" ? [[name.toLowerCase(), String(value)] as const] : [],
  );
}

const headerOfField = {
  resets_at: "retry-after",
  resets_in_seconds: "retry-after",
  plan_type: "x-codex-plan-type",
} as const;

/** The HTTP status in an error within a stream. */
export function statusIn(error: unknown): number | undefined {
  const record = recordOf(error);
  const candidates = [record.status, record.code, recordIn(record, "error").code].map(Number);
  return candidates.find((status) => Number.isInteger(status) && status >= 400 && status < 600);
}

/** A provider's text for a message: without secrets, anything like a key and control characters, and not too long. */
export function sanitize(text: string, secrets: readonly string[]): string {
  const masked = secrets.reduce((rest, secret) => rest.replaceAll(secret, "[key]"), text);
  const clean = maskKeys(masked)
    .replace(/[\p{Cc}\p{Cf}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  return clean.length > longestMessage ? `${clean.slice(0, longestMessage)}…` : clean;
}

const longestMessage = 600;
