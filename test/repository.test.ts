import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { makePlace } from "./support/place.ts";

const bin = (name: string) => join("node_modules/.bin", name);

function passes(...argv: string[]): void {
  const { exitCode, stdout, stderr } = Bun.spawnSync(argv, { stdout: "pipe", stderr: "pipe" });
  expect(`${stdout.toString()}${stderr.toString()}${exitCode === 0 ? "" : `exit ${exitCode}`}`).not.toMatch(
    /exit \d+$/,
  );
}

test("the types hold", () => passes(process.execPath, "check", "--no-script"));
test("the linter has nothing to say", () => passes(bin("oxlint")));
test("everything is formatted", () => passes(process.execPath, "fmt", "--check", "--no-script"));

test("the lock file names no place to download from", () => {
  expect(readFileSync("package-lock.json", "utf8")).not.toContain('"resolved"');
});

describe("npm run build finds bun", () => {
  const bin = "node_modules/.bin/bun";
  const own = "node_modules/@oven/bun-here/bin/bun";
  const rows = [
    ["where its install script moved it", bin, `${own}.md`],
    ["where npm ci --ignore-scripts leaves it, beside one that only complains", own, bin],
  ] as const;
  for (const [name, real, other] of rows)
    test(name, async () => {
      const scripts = { "package.json": readFileSync("package.json", "utf8"), "build.ts": 'console.log("built");' };
      await using place = makePlace({ ...scripts, [other]: "#!/bin/sh\nexit 1\n" });
      chmodSync(join(place.project, other), 0o755);
      mkdirSync(dirname(join(place.project, real)), { recursive: true });
      symlinkSync(process.execPath, join(place.project, real));
      const child = Bun.spawnSync(["npm", "run", "build"], { cwd: place.project, env: place.env });
      expect(child.stdout.toString()).toEndWith("\nbuilt\n");
    });
});

/** The layers, top first: a file imports only from its own layer and from those below. */
const layers = [
  ["cmd"],
  ["lib/sink"],
  ["lib/conversation"],
  ["lib/engine"],
  ["lib/session", "lib/model", "lib/tools", "lib/trust", "lib/agents", "lib/mcp"],
  ["lib/shell"],
  ["lib/sandbox", "lib/egress"],
  [
    "lib/config",
    "lib/files",
    "lib/git",
    "lib/system",
    "lib/async",
    "lib/errors.ts",
    "lib/counted.ts",
    "lib/nearest.ts",
    "lib/quote.ts",
  ],
] as const;

const sources = [...new Bun.Glob("{cmd,lib}/**/*.ts").scanSync()]
  .map((path) => normalize(path))
  .filter((path) => !path.endsWith(".d.ts"));
const layerOf = (path: string) =>
  layers.findIndex((names) => names.some((name) => path === name || path.startsWith(`${name}/`)));

/** Static, type-only and dynamic imports of our own files, resolved against the importing file. */
function importsOf(path: string): string[] {
  const text = readFileSync(path, "utf8");
  const found = text.matchAll(/(?:from\s*|import\s*\(\s*|import\s+)"(\.[^"]+)"/g);
  return [...found].map((match) => normalize(join(dirname(path), match[1] ?? "")));
}

test("every source file belongs to a layer", () => {
  expect(sources.filter((path) => layerOf(path) === -1)).toEqual([]);
});

test("imports point one way through the layers", () => {
  const wrong = sources.flatMap((path) =>
    importsOf(path)
      .filter((target) => layerOf(target) < layerOf(path))
      .map((target) => `${path} → ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("only cmd and lib/config read the command line, the environment, the directory and the standard streams", () => {
  const ambient =
    /\bprocess\.(argv|env|cwd|stdin|stdout|stderr|exit)\b|\bBun\.(argv|env|stdin|stdout|stderr)\b|\bconsole\./;
  const wrong = sources
    .filter((path) => path.startsWith("lib/") && !path.startsWith("lib/config/"))
    .filter((path) => ambient.test(withoutComments(readFileSync(path, "utf8"))));
  expect(wrong).toEqual([]);
});

test("the process exits in one place", () => {
  const exits = sources.filter((path) => /\bprocess\.exit\(/.test(withoutComments(readFileSync(path, "utf8"))));
  expect(exits).toEqual(["cmd/main.ts"]);
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
}

test("a library is imported by one file only", () => {
  const users = new Map<string, Set<string>>();
  for (const path of sources) {
    for (const match of readFileSync(path, "utf8").matchAll(
      /(?:from\s*|import\s*\(\s*)"((?:bun:|@[\w-]+\/)?[\w-]+)[^"]*"/g,
    )) {
      const name = match[1] ?? "";
      if (name.startsWith("node") || name === "bun") continue;
      users.set(name, (users.get(name) ?? new Set()).add(path));
    }
  }
  // zod decodes at several edges: configuration, rows and events each have a schema file of their own.
  users.delete("zod");
  expect([...users].filter(([, paths]) => paths.size > 1)).toEqual([]);
});

/**
 * Every file and directory that the tree in AGENTS.md names. Those of an indented line lie in the directory above it, or
 * in the one below that with which the line begins.
 */
function mapped(): string[] {
  const [, tree = ""] = /## The tree\n\n```\n([\s\S]*?)```/.exec(readFileSync("AGENTS.md", "utf8")) ?? [];
  let directory = "";
  return tree.split("\n").flatMap((line) => {
    const [first = ""] = line.split(/\s/, 1);
    const names = line.match(/[\w/-]+(?:\.(?:ts|md|jsonl)\b|\/(?=\s))/g) ?? [];
    if (first !== "") directory = first.endsWith("/") ? first : "";
    const [, below = ""] = /^\s+([\w-]+\/)\s/.exec(line) ?? [];
    return names.map((name) => {
      if (name === first || name.startsWith("lib/")) return name;
      return join(directory, name === below || /\/\w/.test(name) ? "" : below, name);
    });
  });
}

test("the map names what is there, and every directory of the product", () => {
  const names = mapped();
  expect(names.filter((name) => !existsSync(name))).toEqual([]);
  const directories = sources.flatMap((path) => /^(?:cmd|lib\/[\w-]+)\//.exec(path) ?? []);
  expect(directories.filter((directory) => !names.includes(directory))).toEqual([]);
});
