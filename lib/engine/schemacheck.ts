import { isRecord, mostLevels, nestingFault } from "../config/json.ts";
import { withCommas } from "../counted.ts";
import { errnoOf, messageOf } from "../errors.ts";
import type { JsonSchema } from "../model/model.ts";
import { type Draft, draftOf, type Reference, resolverOf } from "./schema.ts";
import { type KeywordRule, rules } from "./schemarules.ts";

/** The fault of a schema, as a sentence; undefined when it can be used. */
export async function schemaFault(root: JsonSchema): Promise<string | undefined> {
  const deep = nestingFault(root);
  if (deep !== undefined) return deep;
  const walk: Walk = { draft: draftOf(root), seen: new Map(), references: [] };
  const fault = visit([{ schema: root, pointer: "" }], walk);
  if (fault !== undefined) return fault;

  // References are resolved in a tree whose shape is known to be good. Their targets may lie outside of the keywords
  // that were visited, and have references of their own.
  const resolve = await resolverOf(root).catch(referenceFault);
  if (typeof resolve === "string") return resolve;
  for (const reference of walk.references) {
    const target = resolve(reference);
    if (target === undefined) return unresolved(reference);
    walk.seen.get(reference.holder)?.sameValue.push(target.schema);
    const found = visit([target], walk);
    if (found !== undefined) return found;
  }
  return endless(walk);
}

/** The end of references that lead on and on: checking a value against them would overflow the stack. */
const tooMany = `more than ${withCommas(mostLevels)}`;

/** The library's own errors are about the schema; any other is a bug in koda. */
function referenceFault(error: unknown): string {
  const isAboutSchema =
    error instanceof Error &&
    (error.message.startsWith("Duplicate schema URI") || errnoOf(error) === "ERR_INVALID_URL");
  if (isAboutSchema) return messageOf(error);
  throw error;
}

type Place = { schema: unknown; pointer: string };
/** A schema that was visited; `sameValue` are those that are applied to the same value as it. */
type Seen = { pointer: string; sameValue: unknown[] };
type Found = Reference & { pointer: string; value: unknown };
type Walk = { draft: Draft; seen: Map<object, Seen>; references: Found[] };

/** Checks these schemas and all that their keywords hold, and notes their references. */
function visit(places: Place[], walk: Walk): string | undefined {
  // Entries that are added during the iteration are visited too.
  for (const { schema, pointer } of places) {
    if (typeof schema === "boolean") continue;
    if (!isRecord(schema)) return refused(pointer, schema, "a schema: an object, true or false");
    if (walk.seen.has(schema)) continue;

    const seen: Seen = { pointer, sameValue: [] };
    walk.seen.set(schema, seen);
    for (const [keyword, value] of Object.entries(schema)) {
      const rule = rules.get(keyword);
      if (rule === undefined) continue;
      const place = `${pointer}/${escaped(keyword)}`;
      if (!rule.accepts(value, walk.draft)) return refused(place, value, rule.expected);
      if (keyword === "$ref" || keyword === "$recursiveRef")
        walk.references.push({ holder: schema, keyword, pointer: place, value });
      for (const child of childrenOf(rule, value, place)) {
        places.push(child);
        if (rule.isSameValue) seen.sameValue.push(child.schema);
      }
    }
  }
  return undefined;
}

function childrenOf(rule: KeywordRule, value: unknown, pointer: string): Place[] {
  const children = rule.schemas?.(value) ?? [];
  return children.map(({ name, schema }) => ({
    schema,
    pointer: name === undefined ? pointer : `${pointer}/${escaped(name)}`,
  }));
}

/** A schema that refers back to itself for the same value would be applied forever. */
function endless({ seen }: Walk): string | undefined {
  /** The number of schemas in a row that apply to the same value; Infinity while they are being counted. */
  const heights = new Map<unknown, number>();
  const heightOf = (schema: unknown, level: number): number => {
    const known = heights.get(schema);
    if (known !== undefined || level > mostLevels) return known ?? level;
    heights.set(schema, Infinity);
    let height = 0;
    for (const next of (isRecord(schema) ? seen.get(schema)?.sameValue : undefined) ?? [])
      height = Math.max(height, heightOf(next, level + 1) + 1);
    heights.set(schema, height);
    return height;
  };
  for (const [schema, { pointer }] of seen) {
    const height = heightOf(schema, 0);
    if (height === Infinity) return `${named(pointer)} refers back to itself without end`;
    if (height > mostLevels) return `${named(pointer)} refers to ${tooMany} schemas in a row`;
  }
  return undefined;
}

function unresolved({ pointer, value }: Found): string {
  if (String(value).startsWith("#")) return `${named(pointer)} is ${shown(value)}, and the schema has no such place`;
  return `${named(pointer)} is ${shown(value)}, expected a reference within the file, such as "#/$defs/name"`;
}

function refused(pointer: string, value: unknown, expected: string): string {
  return `${named(pointer)} is ${shown(value)}, expected ${expected}`;
}

function named(pointer: string): string {
  return pointer === "" ? "the top level" : `"${pointer}"`;
}

function shown(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length <= 60 ? json : `${json.slice(0, 59)}…`;
}

/** A name in a JSON pointer. */
function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
