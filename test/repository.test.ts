import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
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

/**
 * The folders from which each folder imports, types included. The single files of lib, which hold words and errors, are
 * everyone's. An edge that is not here is a decision to be made; one that is here and is not used any more is struck.
 */
const edges: Readonly<Record<string, readonly string[]>> = {
  cmd: "acp agents async chat config conversation egress engine files fleet git line model review sandbox session shell sink system tools worktree".split(
    " ",
  ),
  sink: ["config", "engine", "model", "session"],
  acp: ["async", "chat", "config", "engine", "session", "tools", "trust"],
  line: ["async", "chat", "config", "engine", "sink", "trust"],
  chat: ["async", "config", "conversation", "engine", "git", "review", "session", "system", "tools", "trust"],
  review: "async config conversation engine files git model sandbox session worktree".split(" "),
  conversation:
    "agents async config egress engine files git hooks mcp model sandbox session shell system tools trust worktree".split(
      " ",
    ),
  mcp: "async config egress engine model session shell tools trust".split(" "),
  hooks: ["async", "config", "engine", "session", "shell"],
  engine: "async config files model session tools trust worktree".split(" "),
  worktree: ["async", "config", "files", "git", "sandbox", "tools"],
  tools: "async config egress files git model sandbox session shell trust".split(" "),
  agents: ["config", "files", "session"],
  fleet: "async config files git session shell system".split(" "),
  session: ["config", "model", "shell", "system"],
  // Of egress the proxies that fetch obeys; of shell the processes of a key's program, and which variables are secret.
  model: ["config", "egress", "files", "shell", "system"],
  trust: ["async", "config", "files", "git", "sandbox"],
  shell: ["async", "config", "egress", "files", "sandbox", "system"],
  sandbox: ["config", "egress", "files", "system"],
  egress: ["async", "config", "system"],
  config: ["files"],
  git: ["files", "system"],
  files: ["async"],
  system: [],
  async: [],
};

const sources = [...new Bun.Glob("{cmd,lib}/**/*.ts").scanSync()]
  .map((path) => normalize(path))
  .filter((path) => !path.endsWith(".d.ts"));
/** The files that make the binary and its releases of those; they keep to the same rules of form. */
const builders = ["build.ts", ...[...new Bun.Glob("release/**/*.ts").scanSync()].map((path) => normalize(path))];
const folderOf = (path: string) => (path.startsWith("cmd/") ? "cmd" : (/^lib\/(\w+)\//.exec(path)?.[1] ?? ""));

/** Static, type-only and dynamic imports of our own files, resolved against the importing file. */
function importsOf(path: string): string[] {
  const text = readFileSync(path, "utf8");
  const found = text.matchAll(/(?:from\s*|import\s*\(\s*|import\s+)"(\.[^"]+)"/g);
  return [...found].map((match) => normalize(join(dirname(path), match[1] ?? "")));
}

test("a folder imports from those that it may, and from no others", () => {
  const listed = Object.entries(edges).flatMap(([from, folders]) => folders.map((to) => `${from} → ${to}`));
  const used = sources.flatMap((path) => {
    const folders = importsOf(path).map(folderOf);
    return folders.filter((to) => to !== "" && to !== folderOf(path)).map((to) => `${folderOf(path)} → ${to}`);
  });
  expect([...new Set(used)].sort()).toEqual(listed.sort());
});

test("no folders import each other, by way of others neither", () => {
  const circles: string[] = [];
  const visit = (folder: string, path: readonly string[]) => {
    if (path.includes(folder)) circles.push([...path.slice(path.indexOf(folder)), folder].join(" → "));
    else for (const next of edges[folder] ?? []) visit(next, [...path, folder]);
  };
  for (const folder of Object.keys(edges)) visit(folder, []);
  expect(circles).toEqual([]);
});

test("only cmd and lib/config read the command line, the environment, the directory and the standard streams", () => {
  const ambient =
    /\bprocess\.(argv|env|cwd|stdin|stdout|stderr|exit)\b|\bBun\.(argv|env|stdin|stdout|stderr)\b|\bconsole\.\w+\(/;
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
    const loaded = readFileSync(path, "utf8").replace(/^import type [^;]*;$/gm, "");
    for (const match of loaded.matchAll(/(?:from\s*|import\s*\(\s*)"((?:bun:|@[\w-]+\/)?[\w-]+)[^"]*"/g)) {
      const name = match[1] ?? "";
      if (name.startsWith("node") || name === "bun") continue;
      users.set(name, (users.get(name) ?? new Set()).add(path));
    }
  }
  // zod decodes at several edges: configuration, rows and events each have a schema file of their own.
  users.delete("zod");
  expect([...users].filter(([, paths]) => paths.size > 1)).toEqual([]);
});

test("the binary has libraries, but nothing of the SDKs that are there for their types", () => {
  const binary = readFileSync("dist/koda");
  const holds = (name: string) => binary.includes(`node_modules/${name}/`);
  expect(["zod", "openai", "@anthropic-ai"].filter(holds)).toEqual(["zod"]);
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

test("koda reads the whole map as its instructions", () => {
  expect(statSync("AGENTS.md").size).toBeLessThan(32 * 1024);
});

test("the glossary names files that are there", () => {
  const [, glossary = ""] = readFileSync("AGENTS.md", "utf8").split("\n## Glossary\n");
  const files = [...glossary.matchAll(/\(((?:lib|cmd)\/[^\s)]+)\)$/gm)].map(([, file = ""]) => file);
  expect(files.length).toBeGreaterThan(25);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

const textOf = (path: string) => readFileSync(path, "utf8");

/** The names that a file declares and exports. */
function exportsOf(path: string): string[] {
  const declared = textOf(path).matchAll(/^export (?:async )?(?:function\*?|const|let|class|type|interface) (\w+)/gm);
  return [...declared].map(([, name = ""]) => name);
}

test("an exported name stands for one thing", () => {
  const paths = new Map<string, string[]>();
  for (const path of sources) for (const name of exportsOf(path)) paths.set(name, [...(paths.get(name) ?? []), path]);
  const several = [...paths].filter(([, { length }]) => length > 1);
  expect(several.map(([name, found]) => `${name}: ${found.join(", ")}`)).toEqual([]);
});

/** `path#name` for each name that a file imports; a dynamic import counts for every name that the file mentions. */
function namesImportedBy(path: string): string[] {
  const text = textOf(path);
  const statements = text.matchAll(/(?:import|export)\s+(?:type\s+)?(\{[^}]*\}|\*\s+as\s+\w+)\s*from\s*"(\.[^"]+)"/g);
  const imported = [...statements].flatMap(([, names = "", from = ""]) => {
    const target = normalize(join(dirname(path), from));
    if (names.startsWith("*")) return exportsOf(target).map((name) => `${target}#${name}`);
    const words = names.match(/\b(?!type\b)\w+(?:\s+as\s+\w+)?/g) ?? [];
    return words.map((word) => `${target}#${word.split(/\s/)[0]}`);
  });
  const dynamic = [...text.matchAll(/\bimport\("(\.[^"]+)"\)/g)].flatMap(([, from = ""]) => {
    const target = normalize(join(dirname(path), from));
    const mentioned = new Set(text.match(/\w+/g));
    return exportsOf(target).flatMap((name) => (mentioned.has(name) ? `${target}#${name}` : []));
  });
  return [...imported, ...dynamic];
}

/** Exports that the product itself does not import, with the reason. */
const exportedForTests: Readonly<Record<string, string>> = {
  "lib/egress/rules/resolve.ts#systemResolver": "tests of the proxies have a resolver of their own",
  "lib/engine/event.ts#lineSchema": "every line of a test's run is checked by it",
  "lib/fleet/events.ts#fleetEventSchema": "every event of a test's worker is checked by it",
  "lib/sandbox/filter/bpf.ts#kill": "a filter is judged by the verdicts that it gives",
  "lib/sandbox/program/steps/landlock.ts#handledBy": "a table of every version of Landlock",
  "lib/sandbox/supervisor/listening.ts#whyNotListen": "a table of addresses, some of which no machine has",
  "lib/sandbox/tiers/landlock/except.ts#mostRules": "a directory that is just too full",
  "lib/shell/capture.ts#countNewlines": "words of bytes, at every offset",
  "lib/system/limits.ts#softOpenFiles": "texts of other kernels",
};

test("a name is exported only for another file of the product", () => {
  const generators = ["record-*", "docs/*"].flatMap((name) => [...new Bun.Glob(`test/support/${name}.ts`).scanSync()]);
  const imported = new Set([...sources, ...builders, ...generators].flatMap(namesImportedBy));
  const types = new Set([...new Bun.Glob("test/**/*.ts").scanSync()].flatMap(namesImportedBy));
  const isType = (path: string, name: string) =>
    new RegExp(`^export (?:type|interface) ${name}\\b`, "m").test(textOf(path));
  const exported = sources.flatMap((path) =>
    // A test may name the types that a function takes and returns.
    exportsOf(path).flatMap((name) => (isType(path, name) && types.has(`${path}#${name}`) ? [] : `${path}#${name}`)),
  );
  expect(exported.filter((name) => !imported.has(name)).sort()).toEqual(Object.keys(exportedForTests).sort());
});

const mostLines = 60;

/** The beginnings of a declaration, a method and an arrow function that has a name. */
const functionStarts = [
  /^(\s*)(?:export )?(?:async )?function\*? (\w+)/,
  /^(\s+)(?:(?:static|async|get|set) )*\*?(#?\w+)(?:<.*>)?\(/,
  /^(\s*)(?:export )?const (\w+) = (?:async )?\(/,
];
const statements: ReadonlySet<string> = new Set(["if", "for", "while", "switch", "catch", "return", "await"]);

/**
 * The formatter ends a function on the first line that is indented like its beginning and starts with a brace; lines of
 * a template are no code.
 */
function functionsIn(path: string): { name: string; lines: number }[] {
  let isTemplate = false;
  const lines = textOf(path)
    .split("\n")
    .map((line) => {
      const text = isTemplate ? "" : line;
      if ((line.match(/(?<!\\)`/g)?.length ?? 0) % 2 === 1) isTemplate = !isTemplate;
      return text;
    });
  return lines.flatMap((line, start) => {
    const [, indent = "", name] =
      functionStarts.map((pattern) => pattern.exec(line)).find((match) => match !== null) ?? [];
    if (name === undefined || statements.has(name)) return [];
    const rest = lines.slice(start);
    const head = line.endsWith("(") ? rest.find((next) => next.startsWith(`${indent})`)) : line;
    const last = rest.findIndex((next) => next.startsWith(`${indent}}`));
    return head?.endsWith("{") && last > 0 ? [{ name, lines: last + 1 }] : [];
  });
}

test(`no function has more than ${mostLines} lines`, () => {
  const found = [...sources, ...builders].flatMap((path) => functionsIn(path).map((each) => ({ path, ...each })));
  // Otherwise the scan would not see the functions.
  expect(found.length).toBeGreaterThan(3 * sources.length);
  const long = found.filter(({ lines }) => lines > mostLines);
  expect(long).toEqual([]);
});

test("no line is wider than 120 columns, but for a message or a pattern that stands on one line", () => {
  const bench = [...new Bun.Glob("bench/**/*.ts").scanSync()].map((path) => normalize(path));
  const literal = /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|(?<=^\s*)\/(?![*/]).*\/[a-z]*/g;
  const wide = [...sources, ...bench, ...builders].flatMap((path) => {
    const widths = textOf(path)
      .split("\n")
      .map((line) => Bun.stringWidth(line.replace(literal, (found) => (Bun.stringWidth(found) > 80 ? "" : found))));
    return widths.flatMap((width, at) => (width > 120 ? `${path}:${at + 1} has ${width}` : []));
  });
  expect(wide).toEqual([]);
});

test("a comment begins with its subject, not with a question word", () => {
  const opening = /(?:\/\*\*(?:\s+\*)?|^\s*\/\/) (?:What|Where|Who|Whom|Whose|Whether)\b.*/gm;
  const asking = [...sources, ...builders].flatMap((path) =>
    [...textOf(path).matchAll(opening)].map(([comment]) => `${path}: ${comment.trim()}`),
  );
  expect(asking).toEqual([]);
});
