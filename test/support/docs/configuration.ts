import { environment } from "../../../cmd/environment.ts";
import { instructionNames } from "../../../lib/agents/instructions.ts";
import { typedKeys } from "../../../lib/config/schema.ts";
import { builtInProviders, type Provider } from "../../../lib/model/providers.ts";
import { builtInTools } from "../../../lib/tools/registry.ts";
import { files } from "../../../release/manual/userfiles.ts";
import { code, tableOf } from "./markdown.ts";

export const configurationParts = {
  files: () =>
    tableOf(
      ["file", ""],
      files.map(({ paths, about }) => [paths.map(code).join(", "), `${about}.`]),
    ),
  keys: () => tableOf(["key", "type", "default", ""], Object.entries<ConfigKey>(typedKeys).map(keyRow)),
  variables: () =>
    tableOf(
      ["variable", ""],
      environment.map(({ names, about }) => [
        names.map((name) => (name === "…" ? name : code(name))).join(", "),
        `${about}.`,
      ]),
    ),
  instructions: () => instructionNames.map((name, at) => `${at + 1}. \`${name}\``).join("\n"),
  tools: () =>
    tableOf(
      ["tool", ""],
      builtInTools.map(({ name, about }) => [code(name), firstSentence(about)]),
    ),
} as const;

export const providerParts = {
  providers: () =>
    tableOf(["provider", "key", "base URL", "base URL variables", "wire"], builtInProviders.map(providerRow)),
} as const;

type ConfigKey = (typeof typedKeys)[keyof typeof typedKeys];

function keyRow([name, { type, about, default: value }]: [string, ConfigKey]): string[] {
  const shown = value === undefined ? "" : code(JSON.stringify(value));
  return [code(name.replaceAll("*", "NAME")), typeOf(type), shown, about];
}

/** A message says `"plan"` and a page `plan` in its own letters. */
function typeOf({ expected }: ConfigKey["type"]): string {
  return expected.replace(/\[.*\]|"[^"]*"/g, code);
}

function providerRow({ name, docs, keys: variables, baseUrl, baseUrlVariables, urlParts, wire }: Provider): string[] {
  const named = (names: readonly string[] = []) => names.map(code).join(", ");
  const parts = Object.entries(urlParts ?? {}).map(([part, { names }]) => `${named(names)} for ${code(`{${part}}`)}`);
  const variablesOfUrl = [named(baseUrlVariables?.names), ...parts].filter((text) => text !== "").join("; ");
  return [`[${code(name)}](${docs})`, named(variables) || "none", code(baseUrl), variablesOfUrl, wire];
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}
