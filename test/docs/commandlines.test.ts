import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dispatchCommand, type Handlers } from "../../cmd/dispatch.ts";
import { commands } from "../../cmd/commands.ts";
import { shellBlocks } from "../support/docs/shell.ts";
import { makePlace } from "../support/place.ts";
import { runIn } from "../support/run.ts";

const pages = ["README.md", ...[...new Bun.Glob("docs/*.md").scanSync()].toSorted()];

/** Command lines in the text: `koda models`. Names in capitals stand for values. */
function inlineOf(page: string): string[] {
  const text = readFileSync(page, "utf8").replace(/^```[\s\S]*?^```$/gm, "");
  const found = [...text.matchAll(/`(koda [^`]+)`/g)].map(([, line = ""]) => line.replaceAll(/\s+/g, " "));
  return [...new Set(found)].filter((line) => /^koda [a-z-]/.test(line)).map(withValues);
}

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

/**
 * The command lines of koda in a piece of shell, which really runs, in an empty home: with a `koda` that only notes its
 * arguments, a `jq` that prints an id, and without any other program.
 */
async function argumentsIn(code: string): Promise<string[][]> {
  const stub = `#!/bin/sh\n{ printf '%s\\0' "$@"; printf '\\n\\0'; } >> "$KODA_LINES"\n`;
  const jq = "#!/bin/sh\necho 019a9c3e\n";
  await using place = makePlace({ "bin/koda": stub, "bin/jq": jq, list: "one\ntwo\n", "test.log": "" });
  for (const name of ["koda", "jq"]) chmodSync(join(place.project, "bin", name), 0o755);
  mkdirSync(join(place.home, ".config/koda"), { recursive: true });
  const lines = join(place.home, "lines");
  const env = { PATH: join(place.project, "bin"), KODA_LINES: lines, BUILD_ID: "7" };
  await runIn(place, ["/bin/bash", "-c", `command_not_found_handle() { return 0; }\n${code}`], { env });
  if (!existsSync(lines)) return [];
  const words = readFileSync(lines, "utf8").split("\0").slice(0, -1);
  const found: string[][] = [[]];
  for (const word of words) {
    if (word === "\n") found.push([]);
    else found.at(-1)?.push(word);
  }
  return found.slice(0, -1);
}

/** Throws a usage error for a line that koda would refuse. */
async function parse(argv: readonly string[]): Promise<void> {
  if (argv[0] === "--version") return;
  const handlers = Object.fromEntries(Object.keys(commands).map((name) => [name, async () => 0]));
  // The table has a handler for each command.
  await dispatchCommand(argv, handlers as unknown as Handlers, { columns: () => 80, print: async () => {} });
}

async function faultsIn(code: string): Promise<{ count: number; faults: string[] }> {
  const faults: string[] = [];
  const lines = await argumentsIn(code);
  for (const argv of lines)
    await parse(argv).catch((error: unknown) => faults.push(`koda ${argv.join(" ")}: ${String(error)}`));
  return { count: lines.length, faults };
}

const isIncomplete = /: (?:\S+(?: [A-Z]+)? is missing|--[\w-]+ needs a value|Expected \S+ or --\w+|No command given)\b/;

describe("koda takes every command line of", () => {
  for (const page of pages)
    test(page, async () => {
      for (const code of shellBlocks(page)) {
        const { count, faults } = await faultsIn(code);
        expect(faults).toEqual([]);
        // Alternatives run only one of their lines.
        if (/^(?:\w+=\S+ )*koda /m.test(code)) expect(count, code).toBeGreaterThan(0);
      }
      for (const line of inlineOf(page)) {
        const { faults } = await faultsIn(line);
        // The text may name a command without its arguments.
        expect(faults.filter((fault) => !isIncomplete.test(fault))).toEqual([]);
      }
    });
});

test("a page without a shell in it would be noticed", () => {
  const lines =
    pages
      .flatMap(shellBlocks)
      .join("\n")
      .match(/\bkoda (?:[a-z-]+)/g) ?? [];
  expect(lines.length).toBeGreaterThan(80);
});
