import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { rootFlags, runFlags } from "../../cmd/flags.ts";
import { loadConfig } from "../../lib/config/load.ts";
import { keys } from "../../lib/config/schema.ts";
import { configure, makePlace } from "../support/place.ts";
import { configurationPage } from "../support/record-configuration.ts";

const written = readFileSync("docs/configuration.md", "utf8");

test("docs/configuration.md has every key, provider, instruction file and tool of the code", () => {
  expect(written, "bun test/support/record-configuration.ts brings it up to date").toBe(configurationPage(written));
  for (const key of Object.keys(keys)) expect(written).toContain(`| \`${key.replaceAll("*", "NAME")}\``);
});

test("each key is described in one sentence", () => {
  for (const { about } of Object.values(keys)) expect(about).toMatch(/^[A-Z][^.]*(?:\.\w[^.]*)*\.$/);
});

test("the flags that the page names exist", () => {
  const named = [...written.matchAll(/`--([a-z-]+)/g)].map(([, name = ""]) => name);
  expect(named.filter((name) => !(name in { ...runFlags, ...rootFlags, json: {} }))).toEqual([]);
});

test("the example of a provider can be used as it stands", async () => {
  await using place = makePlace();
  const [, example = ""] = /```jsonc\n([\s\S]*?)```/.exec(written) ?? [];
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
