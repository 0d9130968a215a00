/** Readers of what somebody else sent: nothing is believed, and what has another type than expected is not there. */
export type JsonRecord = { readonly [key: string]: unknown };

const nothing: JsonRecord = {};
const none: readonly unknown[] = [];

export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : nothing;
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function recordIn(record: JsonRecord, key: string): JsonRecord {
  return recordOf(record[key]);
}

export function arrayIn(record: JsonRecord, key: string): readonly unknown[] {
  const value = record[key];
  return Array.isArray(value) ? value : none;
}

export function stringIn(record: JsonRecord, key: string): string | undefined {
  const value = record[key];
  return typeof value === "string" ? value : undefined;
}

export function countIn(record: JsonRecord, key: string): number | undefined {
  const value = record[key];
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The value of a JSON text, or undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What a malformed text means is for the caller to say.
    return undefined;
  }
}
