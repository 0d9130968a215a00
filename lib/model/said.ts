import { isRecord, type JsonRecord, parseJson, recordIn, recordOf, stringIn } from "../config/json.ts";
import { maskKeys } from "../config/mask.ts";

/** What a provider said: its words, and its own codes for it in one string to search in. */
export type Said = { message: string; codes: string };

/** What an error's body says, which is JSON, text or a page. */
export function reading(body: string): Said {
  const value = parseJson(body);
  if (value !== undefined) return describe(value);
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(body)?.[1];
  const text = title ?? (/<\w+[^>]*>/.test(body) ? body.replace(/<(style|script)[\s\S]*?<\/\1>|<[^>]+>/gi, " ") : body);
  return { message: text, codes: "" };
}

/** Finds the words in the shapes that providers put them in: error.message, detail, a list of errors, plain text. */
export function describe(value: unknown): Said {
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
export function statusIn(error: unknown): number | undefined {
  const record = recordOf(error);
  const candidates = [record.status, record.code, recordIn(record, "error").code].map(Number);
  return candidates.find((status) => Number.isInteger(status) && status >= 400 && status < 600);
}

/** Without the secrets and whatever else looks like a key, without control characters, and a few lines at most. */
export function trimmed(text: string, secrets: readonly string[]): string {
  const bare = secrets.reduce((rest, secret) => rest.replaceAll(secret, "[key]"), text);
  const clean = maskKeys(bare)
    .replace(/[\p{Cc}\p{Cf}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  return clean.length > longestMessage ? `${clean.slice(0, longestMessage)}…` : clean;
}

const longestMessage = 600;
