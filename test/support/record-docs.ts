/** `bun test/support/record-docs.ts`: writes the parts of docs/ that follow from the code. */
import { readFileSync, writeFileSync } from "node:fs";
import { commandParts } from "./docs/commands.ts";
import { configurationParts, providerParts } from "./docs/configuration.ts";
import { eventParts } from "./docs/events.ts";
import { failureParts } from "./docs/failures.ts";

type Parts = Readonly<Record<string, () => string>>;

export const generatedPages: Readonly<Record<string, Parts>> = {
  "docs/commands.md": commandParts,
  "docs/configuration.md": configurationParts,
  "docs/events.md": eventParts,
  "docs/providers.md": providerParts,
  "docs/troubleshooting.md": failureParts,
};

/** The page as it should be; the text around its generated parts is written by hand. */
export function pageAsGenerated(page: string, written = readFileSync(page, "utf8")): string {
  return Object.entries(generatedPages[page] ?? {}).reduce((text, [name, part]) => {
    const [begin, end] = [`<!-- ${name}: written by test/support/record-docs.ts -->`, `<!-- end of ${name} -->`];
    const [before, rest = ""] = text.split(begin);
    const [, after] = rest.split(end);
    if (before === undefined || after === undefined) throw new Error(`${page} has no place for ${name}`);
    return `${before}${begin}\n\n${part()}\n\n${end}${after}`;
  }, written);
}

if (import.meta.main) for (const page of Object.keys(generatedPages)) writeFileSync(page, pageAsGenerated(page));
