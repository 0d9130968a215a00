import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { commands, type CommandSpec } from "../../cmd/commands.ts";
import { rootFlags, type Flags } from "../../cmd/flags.ts";
import { loadConfig } from "../../lib/config/load.ts";
import { keys } from "../../lib/config/schema.ts";
import { eventSchemas } from "../support/docs/events.ts";
import { configure, makePlace } from "../support/place.ts";
import { generatedPages, pageAsGenerated } from "../support/record-docs.ts";

const pages = ["README.md", "CHANGELOG.md", ...[...new Bun.Glob("docs/*.md").scanSync()].toSorted()];
const textOf = (page: string) => readFileSync(page, "utf8");

describe("the parts that follow from the code are up to date", () => {
  for (const page of Object.keys(generatedPages))
    test(page, () => {
      expect(textOf(page), "bun test/support/record-docs.ts brings it up to date").toBe(pageAsGenerated(page));
    });
});

test("every flag of every command is in the reference", () => {
  const reference = textOf("docs/commands.md");
  for (const [name, { flags }] of Object.entries<CommandSpec>(commands)) {
    const [, rest = ""] = reference.split(`\n## koda ${name}\n`);
    const [section = ""] = rest.split("\n## ");
    for (const [flag, { value }] of Object.entries(flags))
      expect(section, name).toContain(
        value === undefined ? `--${flag}\`` : `--${flag} ${value.placeholder.replaceAll("|", "\\|")}\``,
      );
  }
});

test("every key of the configuration is in the reference", () => {
  const reference = textOf("docs/configuration.md");
  for (const key of Object.keys(keys)) expect(reference).toContain(`| \`${key.replaceAll("*", "NAME")}\``);
});

test("each key is described in one sentence", () => {
  for (const { about } of Object.values(keys)) expect(about).toMatch(/^[A-Z][^.]*(?:\.\w[^.]*)*\.$/);
});

test("every event, and each of its fields, has a description", () => {
  const nameless = new Set<string>();
  for (const { description, properties } of eventSchemas) {
    const name = String(properties["type"]?.const);
    if ((description ?? "") === "") nameless.add(name);
    for (const [field, schema] of Object.entries(properties))
      if (field !== "type" && (schema.description ?? "") === "") nameless.add(`${name}.${field}`);
  }
  expect([...nameless]).toEqual([]);
});

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(page: string): string[] {
  const headings = [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("no link leads nowhere", () => {
  const dead: string[] = [];
  for (const page of pages)
    for (const [, target = ""] of textOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      if (!existsSync(file)) dead.push(`${page}: ${target}`);
      else if (anchor !== undefined && !anchorsOf(file).includes(anchor)) dead.push(`${page}: ${target}`);
    }
  expect(dead).toEqual([]);
});

test("every page of docs can be reached from the README", () => {
  const seen = new Set<string>();
  const visit = (page: string): void => {
    if (seen.has(page)) return;
    seen.add(page);
    for (const [, target = ""] of textOf(page).matchAll(/\]\(([^)\s#]+\.md)(?:#[^)]*)?\)/g))
      if (!/^https?:/.test(target)) visit(join(dirname(page), target));
  };
  visit("README.md");
  expect(pages.filter((page) => page !== "CHANGELOG.md" && !seen.has(page))).toEqual([]);
});

/** Flags of other programs that the pages name. */
const foreign = ["no-ext-diff", "cap-drop", "security-opt", "force-with-lease"];

test("the flags that the pages name exist", () => {
  const all: Flags = Object.assign({}, rootFlags, ...Object.values<CommandSpec>(commands).map(({ flags }) => flags));
  const spellings = new Set(
    Object.entries(all)
      .flatMap(([name, { aliases = [] }]) => [name, ...aliases])
      .concat(
        foreign,
        [...textOf("install.sh").matchAll(/^ {2}--([a-z]+) /gm)].map(([, name = ""]) => name),
      ),
  );
  const unknown: string[] = [];
  for (const page of pages)
    for (const [, name = ""] of textOf(page).matchAll(/`--([a-z][a-z-]+)[^`\n]*`/g))
      if (!spellings.has(name)) unknown.push(`${page}: --${name}`);
  expect(unknown).toEqual([]);
});

test("the example of a provider can be used as it stands", async () => {
  await using place = makePlace();
  const [, example = ""] = /```jsonc\n([\s\S]*?)```/.exec(textOf("docs/providers.md")) ?? [];
  configure(place, example);
  const request = {
    env: {},
    home: place.home,
    root: place.project,
    bare: false,
    isTrusted: false,
    sets: [],
    overrides: {},
  };
  const { config } = await loadConfig(request);
  expect(config.providers.get("corp")?.apiKeyCommand?.[0]).toBe("vault");
});
