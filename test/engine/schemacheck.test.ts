import { describe, expect, test } from "bun:test";
import { problemsOf } from "../../lib/engine/schema.ts";
import { schemaFault } from "../../lib/engine/schemacheck.ts";
import { rules } from "../../lib/engine/schemarules.ts";
import type { JsonSchema } from "../../lib/model/model.ts";

/** One value of each kind, and some that only look right. */
const values: unknown[] = [
  'null true false 0 1 -1 1.5 "" "total" "(" "#" "#/nowhere" "http://[" "integer" [] [1] ["a"] ["integer"] [{}] [["a"]]',
  '[null] {} {"a":1} {"a":"b"} {"a":["b"]} {"a":null} {"a":{}} {"(":{}} {"a":{"type":"int"}}',
].flatMap((line) => line.split(" ").map((text) => JSON.parse(text)));

const instances = [null, true, 1.5, "text", [], ["a", 1], {}, { a: 1, b: { c: [] } }];

describe("no value of a keyword is found out later", () => {
  for (const keyword of rules.keys())
    test(keyword, async () => {
      let refused = 0;
      for (const value of values) {
        for (const schema of [{ [keyword]: value }, { properties: { a: { [keyword]: value } } }]) {
          const fault = await schemaFault(schema);
          if (fault !== undefined) refused++;
          else for (const instance of instances) await problemsOf(instance, schema);
        }
      }
      expect(refused).toBeGreaterThan(0);
    });
});

const faults: readonly [schema: JsonSchema, fault: string][] = [
  [{ type: "int" }, '"/type" is "int", expected one of "array"'],
  [{ type: [] }, '"/type" is []'],
  [{ required: "total" }, '"/required" is "total", expected an array of strings'],
  [{ required: true }, '"/required" is true, expected an array of strings'],
  [{ enum: "x" }, '"/enum" is "x", expected an array'],
  [{ properties: null }, '"/properties" is null, expected an object whose values are schemas'],
  [{ properties: { a: { pattern: "(" } } }, '"/properties/a/pattern" is "(", expected a regular expression'],
  [{ patternProperties: { "[": {} } }, '"/patternProperties" is {"[":{}}, expected an object whose names are regular'],
  [{ pattern: "\\-" }, '"/pattern" is "\\\\-", expected a regular expression'],
  [{ properties: { "a/b~c": 5 } }, '"/properties/a~1b~0c" is 5, expected a schema: an object, true or false'],
  [{ items: [true, 3] }, '"/items/1" is 3'],
  [{ anyOf: [] }, '"/anyOf" is [], expected an array of schemas that is not empty'],
  [{ anyOf: [{}, { minLength: -1 }] }, '"/anyOf/1/minLength" is -1, expected an integer of at least 0'],
  [{ not: { multipleOf: 0 } }, '"/not/multipleOf" is 0, expected a number above 0'],
  [{ exclusiveMaximum: true }, '"/exclusiveMaximum" is true, expected a number'],
  [{ dependencies: { a: ["b", 1] } }, '"/dependencies" is {"a":["b",1]}'],
  [{ $dynamicRef: "#a" }, "$dynamicRef is not supported"],
  [{ $ref: "#/$defs/gone", $defs: {} }, '"/$ref" is "#/$defs/gone", and the schema has no such place'],
  [{ items: { $ref: "other.json#/a" } }, '"/items/$ref" is "other.json#/a", expected a reference within the file'],
  [{ items: { $ref: "https://schemas.invalid/a" } }, "expected a reference within the file"],
  [{ items: { $ref: "" } }, '"/items/$ref" is ""'],
  [{ $ref: "#/parts/a", parts: { a: { type: "int" } } }, '"/parts/a/type" is "int"'],
  [{ $ref: "#/parts/a", parts: { a: { $ref: "#/parts/b" } } }, '"/parts/a/$ref" is "#/parts/b", and'],
  [{ items: { $id: "#" } }, "Duplicate schema URI"],
  [{ $ref: "#" }, "the top level refers back to itself without end"],
  [{ $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } } }, "without end"],
];

describe("a fault is named with its place and what was expected there", () => {
  for (const [schema, fault] of faults)
    test(JSON.stringify(schema), async () => expect(await schemaFault(schema)).toContain(fault));
});

function nested(levels: number, keyword: string): JsonSchema {
  let schema: JsonSchema = {};
  for (let level = 0; level < levels; level++) schema = { [keyword]: schema };
  return schema;
}

/** Each schema refers to the next one. */
function chained(count: number): JsonSchema {
  const schemas = Array.from({ length: count }, (_, index) => [index, { $ref: `#/$defs/${index + 1}` }]);
  return { $ref: "#/$defs/0", $defs: Object.fromEntries([...schemas, [count, { type: "string" }]]) };
}

describe("a schema that is too deep to check is refused, and one that is not is used", () => {
  test.each(["not", "items", "x-part"])("by %s", async (keyword) => {
    for (const levels of [1_001, 20_000])
      expect(await schemaFault(nested(levels, keyword))).toBe("it is nested more than 1,000 levels deep");
    expect(await schemaFault(nested(1_000, keyword))).toBeUndefined();
    await problemsOf("x", nested(1_000, keyword));
  });

  test("by references", async () => {
    expect(await schemaFault(chained(20_000))).toBe("the top level refers to more than 1,000 schemas in a row");
    expect(await schemaFault(chained(900))).toBeUndefined();
    expect(await problemsOf("x", chained(900))).toEqual([]);
  });
});

test("a defect is not taken for a fault of the schema", async () => {
  const part = Object.defineProperty({}, "$id", {
    get: () => {
      throw new RangeError("a defect");
    },
  });
  await expect(schemaFault({ "x-part": part })).rejects.toThrow("a defect");
});

type Valid = [schema: JsonSchema, good: unknown, bad?: unknown];
const tree = { type: "object", properties: { next: { $ref: "#/definitions/node" } }, required: ["n"] };
const valid: readonly Valid[] = [
  [{}, 1],
  [{ "x-order": [1], nullable: "yes", units: { type: 5, $ref: 3 } }, 1],
  [{ properties: { type: { enum: ["a"] }, $ref: false, required: true } }, { type: "a" }, { type: "b" }],
  [{ default: { $ref: 5 }, const: { type: 5 } }, { type: 5 }, 1],
  [{ examples: [{ $ref: 5 }], enum: [{ $ref: 5 }] }, { $ref: 5 }, 1],
  [{ $ref: "#/$defs/a", $defs: { a: { type: "string" } } }, "x", 1],
  [
    { $ref: "#/definitions/node", definitions: { node: tree } },
    { n: 1, next: { n: 2 } },
    { n: 1, next: {} },
  ],
  [{ $ref: "#name", $defs: { a: { $anchor: "name", type: "string" } } }, "x", 1],
  [{ $id: "https://schema.invalid/a.json", $ref: "a.json#/$defs/b", $defs: { b: { type: "null" } } }, null, 1],
  [{ $ref: "#/$defs/a%20b~1c", $defs: { "a b/c": { type: "null" } } }, null, 1],
  [{ $ref: "#/components/schemas/A", components: { schemas: { A: { type: "null" } } } }, null, 1],
  [{ properties: { child: { $ref: "#" } }, additionalProperties: false }, { child: {} }, { child: { x: 1 } }],
  [{ items: [{ type: "string" }], additionalItems: false }, ["a"], ["a", 1]],
  [{ prefixItems: [true, { type: "null" }], items: false }, [1, null], [1, 1]],
  [{ pattern: "^\\p{L}+$" }, "é", "1"],
  [{ $schema: "http://json-schema.org/draft-04/schema#", maximum: 1, exclusiveMaximum: true }, 0, 1],
  [
    { $schema: "http://json-schema.org/draft-07/schema#", dependencies: { a: ["b"], c: { required: ["d"] } } },
    {},
    { c: 1 },
  ],
  [JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]},"else":true}'), { a: 1, b: 1 }, { a: 1 }],
  [{ type: ["string", "null"], format: "colour", enum: [null, "red"] }, null, "blue"],
];

describe("what JSON Schema allows is taken, and means what it says", () => {
  for (const [schema, good, ...bad] of valid)
    test(JSON.stringify(schema), async () => {
      expect(await schemaFault(schema)).toBeUndefined();
      expect(await problemsOf(good, schema)).toEqual([]);
      for (const value of bad) expect(await problemsOf(value, schema)).not.toEqual([]);
    });
});
