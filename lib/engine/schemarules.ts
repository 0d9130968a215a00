import { isRecord } from "../config/json.ts";
import type { Draft } from "./schema.ts";

/** The values that a keyword of JSON Schema takes. */
export type KeywordRule = {
  /** Completes "expected …" when a value is refused. */
  expected: string;
  accepts: (value: unknown, draft: Draft) => boolean;
  /** The schemas in an accepted value, each with its place below the keyword. */
  schemas?: (value: unknown) => readonly Child[];
  /** These schemas apply to the same value as the schema that contains them, not to a part of it. */
  isSameValue?: true;
};

type Child = { name?: string; schema: unknown };

const typeNames: readonly string[] = ["array", "boolean", "integer", "null", "number", "object", "string"];

const isString = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
const isList = (value: unknown): value is unknown[] => Array.isArray(value);
const isStrings = (value: unknown) => isList(value) && value.every(isString);
const isType = (value: unknown) => isString(value) && typeNames.includes(value);

const text: KeywordRule = { expected: "a string", accepts: isString };
const yesNo: KeywordRule = { expected: "true or false", accepts: (value) => typeof value === "boolean" };
const number: KeywordRule = { expected: "a number", accepts: isNumber };
const list: KeywordRule = { expected: "an array", accepts: isList };
const size: KeywordRule = {
  expected: "an integer of at least 0",
  accepts: (value) => isNumber(value) && Number.isInteger(value) && value >= 0,
};
/** In draft 4 it excludes the value of `minimum` or `maximum`. */
const bound: KeywordRule = {
  expected: "a number (true or false in draft 4)",
  accepts: (value, draft) => (draft === "4" ? typeof value === "boolean" : isNumber(value)),
};
const schema: KeywordRule = { expected: "a schema", accepts: () => true, schemas: (value) => [{ schema: value }] };
const schemas: KeywordRule = {
  expected: "an array of schemas that is not empty",
  accepts: (value) => isList(value) && value.length > 0,
  schemas: itemsOf,
};
const schemaMap: KeywordRule = {
  expected: "an object whose values are schemas",
  accepts: isRecord,
  schemas: membersOf,
};

const table: readonly [keywords: string, rule: KeywordRule][] = [
  ["$schema $comment title description format contentEncoding contentMediaType", text],
  ["$id id", { expected: "a URI reference", accepts: isUri }],
  ["$ref", { expected: 'a reference such as "#/$defs/name"', accepts: isUri }],
  ["$recursiveRef", { expected: '"#"', accepts: (value) => value === "#" }],
  ["$dynamicRef", { expected: "a $ref in its place: $dynamicRef is not supported", accepts: () => false }],
  ["$anchor", { expected: "a name", accepts: (value) => isString(value) && /^[A-Za-z_][-\w.]*$/.test(value) }],
  ["$recursiveAnchor deprecated readOnly writeOnly uniqueItems", yesNo],
  ["$vocabulary", { expected: "an object", accepts: isRecord }],
  ["$defs definitions properties", schemaMap],
  ["examples enum", list],
  [
    "type",
    {
      expected: `one of ${typeNames.map((name) => `"${name}"`).join(", ")}, or an array of them`,
      accepts: (value) => isType(value) || (isList(value) && value.length > 0 && value.every(isType)),
    },
  ],
  ["allOf anyOf oneOf", { ...schemas, isSameValue: true }],
  ["not if then else", { ...schema, isSameValue: true }],
  ["dependentSchemas", { ...schemaMap, isSameValue: true }],
  [
    "dependencies",
    {
      expected: "an object whose values are schemas or arrays of strings",
      accepts: (value) => isRecord(value) && Object.values(value).every((item) => !isList(item) || isStrings(item)),
      schemas: (value) => membersOf(value).filter((member) => !isList(member.schema)),
      isSameValue: true,
    },
  ],
  [
    "dependentRequired",
    {
      expected: "an object whose values are arrays of strings",
      accepts: (value) => isRecord(value) && Object.values(value).every(isStrings),
    },
  ],
  ["required", { expected: "an array of strings", accepts: isStrings }],
  [
    "patternProperties",
    {
      ...schemaMap,
      expected: "an object whose names are regular expressions and whose values are schemas",
      accepts: (value) => isRecord(value) && Object.keys(value).every(isPattern),
    },
  ],
  ["additionalProperties unevaluatedProperties propertyNames contentSchema", schema],
  ["additionalItems unevaluatedItems contains", schema],
  ["prefixItems", schemas],
  // Drafts before 2020-12 allow a list here, one schema for each item in order.
  ["items", { ...schema, schemas: (value) => (isList(value) ? itemsOf(value) : [{ schema: value }]) }],
  ["minProperties maxProperties minItems maxItems minContains maxContains minLength maxLength", size],
  ["minimum maximum", number],
  ["exclusiveMinimum exclusiveMaximum", bound],
  ["multipleOf", { expected: "a number above 0", accepts: (value) => isNumber(value) && value > 0 }],
  ["pattern", { expected: "a regular expression", accepts: isPattern }],
];

/** Every keyword with a meaning in one of the drafts. JSON Schema ignores any other. */
export const rules: ReadonlyMap<string, KeywordRule> = new Map(
  table.flatMap(([keywords, rule]) => keywords.split(" ").map((keyword) => [keyword, rule] as const)),
);

function membersOf(value: unknown): readonly Child[] {
  return isRecord(value) ? Object.entries(value).map(([name, item]) => ({ name, schema: item })) : [];
}

function itemsOf(value: unknown): readonly Child[] {
  return isList(value) ? value.map((item, index) => ({ name: String(index), schema: item })) : [];
}

/** As the validator compiles it. */
function isPattern(value: unknown): boolean {
  if (!isString(value)) return false;
  try {
    return new RegExp(value, "u") instanceof RegExp;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

function isUri(value: unknown): boolean {
  return isString(value) && URL.canParse(value, "https://schema.invalid/");
}
