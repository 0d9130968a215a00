import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dispatchCommand, type Handlers } from "../../cmd/dispatch.ts";
import { commands } from "../../cmd/commands.ts";
import { makePlace } from "../support/place.ts";
import { runIn } from "../support/run.ts";

const pages = ["README.md", ...[...new Bun.Glob("docs/*.md").scanSync()].toSorted()];

/** Command lines in the text: `koda models`. Names in capitals stand for values. */
function inlineOf(page: string): string[] {
  const text = readFileSync(page, "utf8").replace(/^```[\s\S]*?^```$/gm, "");
  const found = [...text.matchAll(/`(koda [^`]+)`/g)].map(([, line = ""]) => line.replaceAll(/\s+/g, " "));
  return [...new Set(found)].filter((line) => /^koda [a-z-]/.test(line)).map(withValues);
}

/** Command lines in workflows and manifests: a text for a shell, or a list of words. */
function yamlLinesOf(page: string): string[] {
  const lines: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === "string" && /^\s*koda /m.test(value)) lines.push(value);
    else if (Array.isArray(value) && value[0] === "koda") lines.push(value.join(" "));
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(visit);
  };
  for (const [, yaml = ""] of readFileSync(page, "utf8").matchAll(/^```yaml\n([\s\S]*?)^```$/gm))
    visit(Bun.YAML.parse(yaml));
  return lines;
}

/** What a service sets for its jobs. */
const ofServices = { SHARD: "1", JOB_COMPLETION_INDEX: "0", GITHUB_BASE_REF: "main" };

const valueOf: Readonly<Record<string, string>> = {
  N: "1",
  URL: "https://example.com/mcp",
  PROVIDER: "openai",
  CMD: "true",
  ID: "019a9c3e",
  SHELL: "bash",
};

/** Of alternatives the first is tried: `bash|zsh|fish`. */
function withValues(line: string): string {
  return line
    .replace(/(?<= )([\w-]+)(?:\|[\w-]+)+/g, "$1")
    .replace(/(?<= )([\w-]+)(?: \| [\w-]+)+$/g, "$1")
    .replace(/\b[A-Z]+\b/g, (name) => valueOf[name] ?? name.toLowerCase())
    .replace(/ …$/, "");
}

/** The arguments of each koda in lines of shell, which really run, with a `koda` that only notes its arguments. */
async function argumentsIn(code: string): Promise<string[][]> {
  const stub = `#!/bin/sh\n{ printf '%s\\0' "$@"; printf '\\n\\0'; } >> "$KODA_LINES"\n`;
  await using place = makePlace({ "bin/koda": stub });
  chmodSync(join(place.project, "bin/koda"), 0o755);
  const lines = join(place.home, "lines");
  const env = { ...ofServices, PATH: join(place.project, "bin"), KODA_LINES: lines };
  await runIn(place, ["/bin/bash", "-c", `command_not_found_handle() { return 0; }\n${code}`], { env });
  if (!existsSync(lines)) return [];
  const noted = readFileSync(lines, "utf8").split("\n\0").slice(0, -1);
  return noted.map((words) => words.split("\0").slice(0, -1));
}

/** Throws a usage error for a line that koda would refuse. */
async function parse(argv: readonly string[]): Promise<void> {
  if (argv[0] === "--version") return;
  const handlers = Object.fromEntries(Object.keys(commands).map((name) => [name, async () => 0]));
  // The table has a handler for each command.
  await dispatchCommand(argv, handlers as unknown as Handlers, { columns: () => 80, print: async () => {} });
}

describe("koda takes every command line in the workflows and manifests of", () => {
  for (const page of ["docs/ci.md", "docs/fleet.md"])
    test(page, async () => {
      const written = yamlLinesOf(page);
      const lines = await argumentsIn(written.join("\n"));
      expect(lines.length).toBeGreaterThanOrEqual(written.length);
      for (const argv of lines) await parse(argv);
    });

  test("and there are some", () => {
    expect(yamlLinesOf("docs/fleet.md")).toHaveLength(4);
  });
});

const isIncomplete = /: (?:\S+(?: [A-Z]+)? is missing|--[\w-]+ needs a value|Expected \S+ or --\w+|No command given)\b/;

describe("koda takes every command line in the text of", () => {
  for (const page of pages)
    test(page, async () => {
      const written = inlineOf(page);
      const lines = await argumentsIn(written.join("\n"));
      expect(lines.length).toBeGreaterThanOrEqual(written.length);
      const faults: string[] = [];
      for (const argv of lines)
        await parse(argv).catch((error: unknown) => faults.push(`koda ${argv.join(" ")}: ${String(error)}`));
      // The text may name a command without its arguments.
      expect(faults.filter((fault) => !isIncomplete.test(fault))).toEqual([]);
    });
});
