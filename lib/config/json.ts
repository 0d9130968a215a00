import { withCommas } from "../counted.ts";

/** Readers for JSON from outside: a value of another type than expected counts as absent. */
export type JsonRecord = { readonly [key: string]: unknown };

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

export function recordIn(record: JsonRecord, key: string): JsonRecord {
  return recordOf(record[key]);
}

export function arrayIn(record: JsonRecord, key: string): readonly unknown[] {
  const value = record[key];
  return Array.isArray(value) ? value : [];
}

export function stringIn(record: JsonRecord, key: string): string | undefined {
  const value = record[key];
  return typeof value === "string" ? value : undefined;
}

/** A non-negative integer. */
export function countIn(record: JsonRecord, key: string): number | undefined {
  const value = record[key];
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Undefined when the text is not JSON that can be used. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return depthFault(value, text) === undefined ? value : undefined;
  } catch {
    return undefined;
  }
}

type JsonText =
  | { value: unknown; problem?: never; isNested?: never }
  /** `isNested`: it is JSON, but nested too deeply. */
  | { value?: never; problem: string; isNested: boolean };

/**
 * The value of a JSON text, or the problem with it. What walks through a value later (a schema's check, writing it as
 * JSON again) overflows the stack where the parser does not, so a text that is nested too deeply is no value.
 */
export function readJson(text: string): JsonText {
  try {
    const value: unknown = JSON.parse(text);
    const problem = depthFault(value, text);
    return problem === undefined ? { value } : { problem, isNested: true };
  } catch (error) {
    return { problem: String(error), isNested: false };
  }
}

/** Most texts are too short to be deep: they cost nothing. */
function depthFault(value: unknown, text: string): string | undefined {
  return text.length > 2 * mostLevels ? nestingFault(value) : undefined;
}

/** Far more than anybody writes. */
export const mostLevels = 1_000;

/** Level by level, without recursion. */
export function nestingFault(value: unknown): string | undefined {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= mostLevels; depth += 1) {
    const next: unknown[] = [];
    for (const nested of level)
      if (typeof nested === "object" && nested !== null)
        for (const inner of Array.isArray(nested) ? nested : Object.values(nested))
          if (typeof inner === "object" && inner !== null) next.push(inner);
    if (next.length === 0) return undefined;
    level = next;
  }
  return `it is nested more than ${withCommas(mostLevels)} levels deep`;
}
