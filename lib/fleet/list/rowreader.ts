import { isRecord, type JsonRecord } from "../../config/json.ts";
import { nearest } from "../../nearest.ts";
import { shownJson } from "./listerrors.ts";

const fields = [
  "key",
  "prompt",
  "prompt_file",
  "repo",
  "ref",
  "dir",
  "options",
  "after",
  "group",
  "labels",
  "publish",
] as const;
type Field = (typeof fields)[number];

/** Takes the fields of a row by their types. */
export class RowReader {
  readonly #row: JsonRecord;
  readonly fail: (problem: string) => void;

  constructor(row: JsonRecord, fail: (problem: string) => void) {
    this.#row = row;
    this.fail = fail;
  }

  has(field: Field): boolean {
    return this.#row[field] !== undefined;
  }

  missing(field: Field, expected: string): string {
    if (!this.has(field)) this.fail(`"${field}" is missing: ${expected}`);
    return "";
  }

  refuseUnknown(): void {
    for (const name of Object.keys(this.#row)) {
      if (fields.some((field) => field === name)) continue;
      const meant = nearest(name, fields);
      const hint = meant === undefined ? `, expected one of ${fields.join(", ")}` : ` (did you mean "${meant}"?)`;
      this.fail(`${shownJson(name)}: unknown field${hint}`);
    }
  }

  text(field: Field, isRight: (text: string) => boolean, expected: string): string | undefined {
    const value = this.#row[field];
    if (value === undefined) return undefined;
    if (typeof value === "string" && isRight(value)) return value;
    this.fail(`"${field}" ${shownJson(value)}: ${expected}`);
    return undefined;
  }

  texts(field: Field, isRight: (text: string) => boolean, expected: string): string[] {
    const value = this.#row[field];
    if (value === undefined) return [];
    const isList = (list: readonly unknown[]): list is readonly string[] =>
      list.every((item) => typeof item === "string" && isRight(item));
    if (Array.isArray(value) && isList(value)) return [...value];
    const wrong = Array.isArray(value) ? value.find((item) => typeof item !== "string" || !isRight(item)) : value;
    this.fail(`"${field}" ${shownJson(wrong)}: ${expected}`);
    return [];
  }

  record(field: Field, expected: string): JsonRecord | undefined {
    const value = this.#row[field];
    if (value === undefined || isRecord(value)) return value;
    this.fail(`"${field}" ${shownJson(value)}: ${expected}`);
    return undefined;
  }
}
