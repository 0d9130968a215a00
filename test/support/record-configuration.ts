/** `bun test/support/record-configuration.ts`: writes the tables in docs/configuration.md that follow from the code. */
import { readFileSync, writeFileSync } from "node:fs";
import { instructionNames } from "../../lib/agents/instructions.ts";
import { typedKeys } from "../../lib/config/schema.ts";
import { builtInProviders, type Provider } from "../../lib/model/providers.ts";
import { builtInTools } from "../../lib/tools/registry.ts";

const page = "docs/configuration.md";

/** The page as it should be; the text around the tables is written by hand. */
export function configurationPage(written = readFileSync(page, "utf8")): string {
  return Object.entries(parts).reduce((text, [name, part]) => replaced(text, name, part()), written);
}

const parts: Readonly<Record<string, () => string>> = {
  keys: () => tableOf(["key", "type", "default", ""], Object.entries<ConfigKey>(typedKeys).map(keyRow)),
  providers: () =>
    tableOf(["provider", "key", "base URL", "base URL variables", "wire"], builtInProviders.map(providerRow)),
  instructions: () => instructionNames.map((name, at) => `${at + 1}. \`${name}\``).join("\n"),
  tools: () =>
    tableOf(
      ["tool", ""],
      builtInTools.map(({ name, about }) => [code(name), firstSentence(about)]),
    ),
};

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

function replaced(text: string, name: string, part: string): string {
  const [begin, end] = [`<!-- ${name}: written by test/support/record-configuration.ts -->`, `<!-- end of ${name} -->`];
  const [before, rest = ""] = text.split(begin);
  const [, after] = rest.split(end);
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for ${name}`);
  return `${before}${begin}\n\n${part}\n\n${end}${after}`;
}

/** As the formatter writes it: columns of equal width. */
function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = heads.map((head, at) => Math.max(3, ...[heads, ...cells].map((row) => (row[at] ?? head).length)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, at) => (row[at] ?? "").padEnd(width)).join(" | ")} |`;
  return [line(heads), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...cells.map(line)].join("\n");
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}

function code(text: string): string {
  return `\`${text}\``;
}

if (import.meta.main) writeFileSync(page, configurationPage());
