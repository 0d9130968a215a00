import { expect, test } from "bun:test";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { globMatcher } from "../../../lib/tools/search/glob.ts";
import { scopeOf } from "../../../lib/tools/search/scope.ts";
import { walkScope } from "../../../lib/tools/search/walk.ts";
import { compileWildcards } from "../../../lib/tools/search/wildcards.ts";
import { makePlace, type Place } from "../../support/place.ts";
import { policyOf } from "../../support/policy.ts";
import { seeded } from "../../support/random.ts";
import { cpuTime } from "../../support/cputime.ts";

const projects = 25;
const letters = [..."aaabbc", "-", ".", "A", "[", "!", "#", " ", "\\", "*"];
const wild = "* * ** ? [ab] [!a] [a-c] []a] [[:alpha:]] [ \\a \\* \\ { a b".split(" ");

/** A project of random names with random rules; each seed always makes the same one. */
function fill(place: Place, seed: number): void {
  const next = seeded(seed);
  const below = (most: number) => Math.floor(next() * most);
  const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T;
  const some = (most: number, make: () => string) => Array.from({ length: 1 + below(most) }, make);
  const name = () => some(3, () => pick(letters)).join("");
  const directories = [".", ...some(8, () => some(3, name).join("/"))];
  const rule = () => {
    const part = () => (below(4) === 0 ? "**" : some(3, () => pick(below(2) === 0 ? wild : letters)).join(""));
    const known = () => pick(directories).split("/").slice(-below(3)).join("/");
    const body = some(3, () => (below(3) === 0 ? known() : part())).join("/");
    return `${pick(["", "", "!", "/"])}${body}${pick(["", "", "/", "/**", "/*", " "])}`;
  };
  for (let file = 0; file < 60; file++) write(place, `${pick(directories)}/${name()}`, "");
  for (const directory of [".", pick(directories), pick(directories)])
    write(place, `${directory}/.gitignore`, some(6, rule).join(pick(["\n", "\r\n"])));
}

/** Names that mean something else, or stand in each other's way, are left out. */
function write(place: Place, path: string, content: string): void {
  const target = join(place.project, path);
  const parents = path.split("/").map((_, index, names) => join(place.project, ...names.slice(0, index)));
  if (!target.startsWith(`${place.project}/`) || parents.some((each) => existsSync(each) && !isDirectory(each))) return;
  if (existsSync(target) && isDirectory(target)) return;
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content);
}

function isDirectory(path: string): boolean {
  return statSync(path).isDirectory();
}

function listedByGit({ project, env }: Place): string[] {
  const git = (...args: string[]) => Bun.spawnSync(["git", ...args], { cwd: project, env }).stdout.toString();
  git("init", "-q");
  return git("ls-files", "--others", "-z", "--exclude-standard").split("\0").slice(0, -1).sort();
}

async function walked(place: Place, signal = new AbortController().signal): Promise<string[]> {
  const files: string[] = [];
  const options = { unreadable: () => undefined, signal };
  await walkScope(scopeOf(place.project, policyOf(place)), options, ({ path, kind }) => {
    if (kind === "file") files.push(path);
  });
  return files.sort();
}

test("git ignores the same files, whatever the rules and the names are", async () => {
  let ignored = 0;
  for (let seed = 0; seed < projects; seed++) {
    await using place = makePlace();
    fill(place, seed);
    const [files, expected] = [await walked(place), listedByGit(place)];
    expect({ seed, files }).toEqual({ seed, files: expected });
    ignored += 60 - files.length;
  }
  expect(ignored).toBeGreaterThan(projects);
});

test("a walk that takes long stops when it is told to", async () => {
  const names = Array.from({ length: 400 }, (_, number) => [`${"a".repeat(100)}${number}`, ""]);
  await using place = makePlace(Object.fromEntries(names));
  place.write(".gitignore", `*\n${"*a*a*b\n".repeat(100_000)}`);
  const started = performance.now();
  expect(await walked(place, AbortSignal.timeout(50)).catch(String)).toContain("TimeoutError");
  expect(performance.now() - started).toBeLessThan(2000);
});

const long = "a".repeat(250);
const hard: [pattern: string, path: string][] = [
  ["a/**/".repeat(20) + "b", "a/".repeat(60) + "c"],
  ["**/a/".repeat(200) + "b", "a/".repeat(1000) + "c"],
  ["*a".repeat(100) + "b", long],
  ["**a".repeat(100) + "b", long],
  ["[a-z]*".repeat(100) + "9", long],
  ["*".repeat(100_000) + "b", long],
  ["[" + "[:".repeat(200_000), long],
  ["[" + "[:".repeat(200_000) + "]", long],
  ["[[:constructor:]]", "c"],
];

test.each(hard)("a hard pattern is matched in no time: %#", (pattern, path) => {
  const matches = compileWildcards(pattern);
  const started = cpuTime();
  for (let time = 0; time < 20; time++) expect(matches(path.split("/"))).toBe(false);
  expect(cpuTime() - started).toBeLessThan(1000);
  expect(matches([])).toBe(false);
});

test("braces are alternatives, in each other too, and not too many", () => {
  const matched = (glob: string, paths: string[]) => paths.filter((path) => globMatcher(glob)?.(path));
  expect(matched("{a,b/{c,d}}.ts", ["a.ts", "b/c.ts", "b/d.ts", "b.ts", "c.ts"])).toEqual(["a.ts", "b/c.ts", "b/d.ts"]);
  expect(matched("a{,.test}.ts", ["a.ts", "a.test.ts", "b.ts"])).toEqual(["a.ts", "a.test.ts"]);
  expect(matched("{a,b", ["a", "{a,b"])).toEqual(["{a,b"]);
  expect(matched("\\{a,b}", ["a", "{a,b}"])).toEqual(["{a,b}"]);
  expect(globMatcher("{a,b}".repeat(8))?.("abababaa")).toBe(true);
  expect(globMatcher("{a,b}".repeat(30))).toBeUndefined();
});
