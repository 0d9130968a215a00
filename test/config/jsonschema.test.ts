import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { configJsonSchema } from "../../lib/config/jsonschema.ts";
import { parseJsonc } from "../../lib/config/jsonc.ts";
import { loadConfig } from "../../lib/config/load.ts";
import { typedKeys } from "../../lib/config/schema.ts";
import { problemsOf } from "../../lib/engine/schema.ts";
import { schemaFault } from "../../lib/engine/schemacheck.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { kodaFromSource } from "../support/source.ts";

const schema = configJsonSchema();
const accepts = async (config: unknown) => (await problemsOf(config, schema)).length === 0;

/** `value` in a file, as the value of a key whose names of the user's are all "x". */
function fileWith(key: string, value: unknown): unknown {
  return key.split(".").reduceRight((inner, name) => ({ [name === "*" ? "x" : name]: inner }), value);
}

const hook = { on: "tool.before", match: "Bash|Write", command: "./check", timeout: "5s", required: true };
const scalars = [null, true, false, 0, 1, 7, 0.5, 1.5, -1, -0.5, Number.MAX_SAFE_INTEGER];
const words = ["", " ", "x", "a b", "plan", "allowlist", "chat", "patch", "list", "NAME_1", "ü"];
const times = ["300s", "1.5h", "0", "20", "5 s", "25d"];
const urls = ["https://example.com/v1?a=1", "http://u:p@example.com", "HTTP://EXAMPLE.COM", "${URL}/mcp", "ftp://x"];
const lists = [[], [""], ["x"], ["x", ""], ["NAME"], [1], ["a", null]];
const wrongHooks = [
  [{ on: "later", command: "x" }],
  [{ on: "stop" }],
  [{ ...hook, more: 1 }],
  [{ ...hook, timeout: 5 }],
];
const hooks = [hook, [hook], [{ on: "stop", command: "x" }], ...wrongHooks];
const values: readonly unknown[] = [...scalars, ...words, ...times, ...urls, ...lists, ...hooks, {}, { a: 1 }];

test("the schema is a correct one", async () => expect(await schemaFault(schema)).toBeUndefined());

describe("the schema accepts every value that koda reads", () => {
  for (const [key, { type }] of Object.entries(typedKeys))
    test(key, async () => {
      const read = values.filter((value) => type.read(value) !== undefined);
      expect(read.length).toBeGreaterThan(0);
      for (const value of read) expect(await accepts(fileWith(key, value)), JSON.stringify(value)).toBe(true);
    });
});

test("of the others it accepts only what a schema cannot tell", async () => {
  const wider: string[] = [];
  for (const [key, { type }] of Object.entries(typedKeys))
    for (const value of values.filter((each) => type.read(each) === undefined))
      if (await accepts(fileWith(key, value))) wider.push(`${type.expected}: ${JSON.stringify(value)}`);
  const noUrls = [...words, ...times, ...urls].filter((text) => !/^https?:\/\/(?!.*@)/i.test(text));
  const url = "an http:// or https:// URL without user name and fragment";
  const time = 'a time such as "500ms", "30s", "10m" or "2h" (at most 24 days)';
  expect([...new Set(wider)].toSorted()).toEqual(
    [
      ...noUrls.map((text) => `${url}: ${JSON.stringify(text)}`),
      `${time}: "25d"`,
      `${time}, or null: "25d"`,
      'a list of a program and its arguments, as in ["vault", "read", "key"]: [""]',
      'a non-empty string of printable ASCII characters: " "',
    ].toSorted(),
  );
});

test("an unknown key is refused at every place", async () => {
  expect(await accepts({ modle: "x" })).toBe(false);
  for (const key of Object.keys(typedKeys).filter((name) => name.includes(".") && !name.endsWith("*")))
    expect(await accepts(fileWith(key.replace(/[^.]+$/, "nonsense"), "x")), key).toBe(false);
});

test("each default is a value that the schema accepts", async () => {
  for (const [key, { default: usual }] of Object.entries<{ default?: unknown }>(typedKeys))
    if (usual !== undefined) expect(await accepts(fileWith(key, usual)), key).toBe(true);
});

test("the examples in docs are files that it accepts", async () => {
  let seen = 0;
  for (const page of new Bun.Glob("docs/*.md").scanSync())
    for (const [, text = ""] of readFileSync(page, "utf8").matchAll(
      /```jsonc?\n(\/\/ [^\n]*config\.json\n[\s\S]*?)```/g,
    )) {
      const parsed = parseJsonc(text);
      if (!parsed.ok) throw new Error(`${page}: ${parsed.problem}`);
      expect(await problemsOf(parsed.value, schema), page).toEqual([]);
      seen++;
    }
  expect(seen).toBeGreaterThan(1);
});

const load = async ({ home, project }: Place) =>
  await loadConfig({ env: {}, home, root: project, bare: false, isTrusted: false, sets: [], overrides: {} });

test("a file may name its schema, and nothing else with a dollar", async () => {
  await using place = makePlace();
  const named = { $schema: "file:///home/me/koda.schema.json", limits: { max_turns: 7 } };
  configure(place, named);
  expect((await load(place)).config.limits.maxTurns).toBe(7);
  expect(await accepts(named)).toBe(true);
  configure(place, { $schema: 1 });
  expect(load(place)).rejects.toThrow('unknown key "$schema"');
  expect(await accepts({ $schema: 1 })).toBe(false);
});

test("koda doctor --config-schema prints it, also where the configuration is broken", async () => {
  await using place = makePlace();
  configure(place, "{");
  const { stdout, exit } = await kodaFromSource(place, ["doctor", "--config-schema"]);
  expect(exit).toBe(0);
  expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(schema)));
});
