import { isRecord, type JsonRecord, parseJson, recordIn, recordOf, stringIn } from "../config/json.ts";
import { maskKeys } from "../config/mask.ts";

/** An error as a provider words it; `codes` are its own codes in one string. */
export type ErrorBody = { message: string; codes: string };

/** The body of an error response: JSON, text or a page. */
export function parseErrorBody(body: string): ErrorBody {
  const value = parseJson(body);
  if (value !== undefined) return errorBodyOf(value);
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(body)?.[1];
  const text = title ?? (/<\w+[^>]*>/.test(body) ? body.replace(/<(style|script)[\s\S]*?<\/\1>|<[^>]+>/gi, " ") : body);
  return { message: text, codes: "" };
}

/** Finds the message where providers put it: error.message, detail, a list of errors, plain text. */
export function errorBodyOf(value: unknown): ErrorBody {
  if (typeof value === "string") return { message: value, codes: "" };
  if (Array.isArray(value)) return errorBodyOf(value[0]);
  if (!isRecord(value)) return { message: "", codes: "" };
  for (const key of ["error", "errors", "detail"]) {
    if (value[key] !== undefined && value[key] !== null) return withCodes(errorBodyOf(value[key]), value);
  }
  const message = stringIn(value, "message") ?? stringIn(value, "msg") ?? JSON.stringify(value);
  const upstream = stringIn(recordIn(value, "metadata"), "raw");
  return withCodes({ message: upstream === undefined ? message : `${message}: ${upstream}`, codes: "" }, value);
}

function withCodes(body: ErrorBody, record: JsonRecord): ErrorBody {
  const own = [record.code, record.type, record.status].filter((code) => typeof code === "string");
  return { ...body, codes: [body.codes, ...own].join(" ").trim() };
}

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
