import type { Schema, ValidationResult, Validator } from "@cfworker/json-schema";
import type { JsonSchema } from "../model/model.ts";

/** A mismatch between a value and its schema. */
export type Problem = { path: string; expected: string };

const mostProblems = 8;

/** Compiled once for each schema: tools are checked on every call. */
const validators = new WeakMap<JsonSchema, Validator>();

/** A parent says only that one of its children failed; the child says what is wrong. */
const parents = new Set(["properties", "additionalProperties", "items", "prefixItems", "$ref", "allOf"]);

/** The mismatches between `value` and the schema. Throws when the schema itself cannot be used. */
export async function problemsOf(value: unknown, schema: JsonSchema): Promise<Problem[]> {
  return (await checkerOf(schema))(value);
}

/** The same for values that are checked later, at once. */
export async function checkerOf(schema: JsonSchema): Promise<(value: unknown) => Problem[]> {
  const validator = await validatorOf(schema);
  return (value) => mismatches(validator.validate(value));
}

function mismatches({ valid, errors }: ValidationResult): Problem[] {
  if (valid) return [];
  const telling = errors.filter(({ keyword }) => !parents.has(keyword));
  return (telling.length > 0 ? telling : errors).slice(0, mostProblems).map(({ instanceLocation, keyword, error }) => ({
    path: instanceLocation.replace(/^#\/?/, "").replaceAll("/", ".") || "(top level)",
    expected: keyword === "false" ? "there is no such property" : error.replace(/^Instance /, ""),
  }));
}

/** Mismatches as lines that a model can act on. */
export function describeProblems(problems: readonly Problem[]): string {
  return problems.map(({ path, expected }) => `- ${path}: ${expected}`).join("\n");
}

export type Draft = "4" | "7" | "2019-09" | "2020-12";

/** The draft that a schema names; the newest when it names none. */
export function draftOf({ $schema }: JsonSchema): Draft {
  const name = String($schema);
  if (name.includes("2019-09")) return "2019-09";
  if (/draft-0?4\b/.test(name)) return "4";
  return /draft-0?[67]\b/.test(name) ? "7" : "2020-12";
}

/** A reference in a schema; `holder` is the object that has the keyword. */
export type Reference = { holder: object; keyword: "$ref" | "$recursiveRef" };

/** Finds the targets of references, with their JSON pointers. */
export async function resolverOf(
  root: JsonSchema,
): Promise<(reference: Reference) => { schema: unknown; pointer: string } | undefined> {
  const { dereference } = await import("@cfworker/json-schema");
  const known = dereference(root as Schema);
  return ({ holder, keyword }) => {
    // The library puts the absolute address beside the reference.
    const address: unknown = Reflect.get(
      holder,
      keyword === "$ref" ? "__absolute_ref__" : "__absolute_recursive_ref__",
    );
    if (typeof address !== "string" || known[address] === undefined) return undefined;
    return { schema: known[address], pointer: decodeURIComponent(new URL(address).hash.slice(1)) };
  };
}

async function validatorOf(schema: JsonSchema): Promise<Validator> {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  const { Validator } = await import("@cfworker/json-schema");
  // Our JsonSchema is any JSON object; the library's type lists the keywords it knows.
  const validator = new Validator(schema as Schema, draftOf(schema), false);
  validators.set(schema, validator);
  return validator;
}
