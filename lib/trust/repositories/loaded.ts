import { readdirSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { unlessRefused } from "../../errors.ts";

/**
 * The files that a command line in git's configuration names, there or not: words that are files or may become some,
 * and what an interpreter would load for a word. What such a file loads in turn is not followed.
 */
export function filesLoadedBy(command: string, directory: string, home: string): readonly string[] {
  return wordLists(command, home).flatMap((words) => {
    const entered = words.filter((_, at) => /^(cd|-C)$/.test(words[at - 1] ?? ""));
    const bases = [directory, ...entered.map((word) => absolute(word, directory))];
    return words.flatMap((word, at) => bases.flatMap((base) => filesFor(word, words.slice(0, at), base)));
  });
}

/** The words of a command at any depth of quotes, and again as they are when its expansions give its directory. */
function wordLists(command: string, home: string): readonly (readonly string[])[] {
  const known = command.replaceAll(/\$HOME\b|\$\{HOME\}/g, () => home).replaceAll(/(^|[\s'"=])~(?=\/)/g, `$1${home}`);
  // `$(git rev-parse --show-toplevel)/tools/x`, `"$PWD"/tools/x`.
  const here = known.replaceAll(/["']/g, "").replaceAll(/\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$\w+/g, ".");
  const words = (text: string) => text.split(/[\s'"=;|&()<>`!]+/).filter((word) => word !== "");
  return [words(known), words(here).filter((word) => word !== ".")];
}

function absolute(word: string, directory: string): string {
  return isAbsolute(word) ? word : join(directory, word);
}

function filesFor(word: string, before: readonly string[], directory: string): readonly string[] {
  const path = absolute(word, directory);
  const program = programBefore(before);
  if (runner.test(program) && /^[@\w][\w./@-]*$/.test(word)) return [join(directory, "node_modules/.bin", word)];
  if (before.at(-1) === "-m" && python.test(program)) return moduleFiles(word.split("."), directory);
  const stats = unlessRefused(() => statSync(path, { throwIfNoEntry: false }));
  if (stats?.isFile() === true) return [path];
  const isText = /^-\w*[ce]$/.test(before.at(-1) ?? "");
  const isLoaded = !isText && (interpreter.test(program) || python.test(program));
  if (!isLoaded && !word.includes("/")) return [];
  const others = [...besides(path), ...(isLoaded ? implied.map((extension) => path + extension) : [])];
  if (stats?.isDirectory() === true) return isLoaded ? [...others, ...entries.map((name) => join(path, name))] : others;
  return [path, ...others];
}

/** The program whose first operand comes next. */
function programBefore(words: readonly string[]): string {
  const isOption = (word: string, at: number) => word.startsWith("-") || taking.test(words[at - 1] ?? "");
  return basename(words.findLast((word, at) => !isOption(word, at) && !/^(exec|run|x|dlx)$/.test(word)) ?? "");
}

/** Run a program that the project has installed. */
const runner = /^(npx|bunx|pnpx|npm|pnpm|yarn)$/;
const interpreter = /^(node|nodejs|bun|deno|tsx|ts-node|ruby|perl|php|lua|Rscript|(ba|da|z|k|fi)?sh|source|\.)$/;
const python = /^(python|pypy)[\d.]*$/;
const taking = /^(-[rIWX]|--(require|import|loader|preload|cwd|config))$/;

/** Left out of what is loaded. */
const implied = [".js", ".mjs", ".cjs", ".json", ".node", ".ts", ".mts", ".cts", ".tsx", ".jsx"];

/** Files that stand for their directory. */
const entries = ["package.json", "__main__.py", ...implied.map((extension) => `index${extension}`)];

/** Of a Python module and the packages that it is in. */
function moduleFiles(parts: readonly string[], directory: string): readonly string[] {
  const paths = parts.map((_, at) => join(directory, ...parts.slice(0, at + 1)));
  return paths.flatMap((path) => [".py", ".so", "/__init__.py", "/__main__.py"].map((end) => path + end));
}

/** Files by the same name with an extension. */
function besides(path: string): readonly string[] {
  const names = unlessRefused(() => readdirSync(dirname(path))) ?? [];
  return names.filter((name) => name.startsWith(`${basename(path)}.`)).map((name) => join(dirname(path), name));
}
