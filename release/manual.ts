/** `bun release/manual.ts DIR`: writes the manual pages and the shell completions that a release packs. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { bashScript } from "../cmd/completions/bash.ts";
import { fishScript } from "../cmd/completions/fish.ts";
import { zshScript } from "../cmd/completions/zsh.ts";
import { version } from "../package.json";
import { commandPage, pageName, topics } from "./manual/commandpage.ts";
import { configPage } from "./manual/configpage.ts";

/** The pages by their paths below `share`; `date` is the one in them, as in 2026-11-20. */
export function manualPages(date = commitDate()): ReadonlyMap<string, string> {
  const stamp = { date, version };
  const pages = topics.map((topic) => [`man/man1/${pageName(topic)}.1`, commandPage(topic, stamp)] as const);
  return new Map([...pages, ["man/man5/koda-config.5", configPage(stamp)]]);
}

/** All files by their paths. */
export function manualFiles(date = commitDate()): ReadonlyMap<string, string> {
  return new Map([
    ...manualPages(date),
    ["completions/koda.bash", bashScript()],
    ["completions/_koda", zshScript()],
    ["completions/koda.fish", fishScript()],
  ]);
}

function writeManual(directory: string): void {
  for (const [name, text] of manualFiles()) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

/** The date of the commit, so that one commit gives the same bytes everywhere; or the one that other tools are told. */
function commitDate(): string {
  const seconds = Number(process.env.SOURCE_DATE_EPOCH ?? git("log", "-1", "--format=%ct"));
  if (!(seconds > 0))
    throw new Error("The date of the commit is not known: run this in a clone, or set SOURCE_DATE_EPOCH");
  return new Date(seconds * 1000).toISOString().slice(0, "2026-11-20".length);
}

function git(...args: readonly string[]): string {
  return Bun.spawnSync(["git", ...args], { cwd: import.meta.dir })
    .stdout.toString()
    .trim();
}

if (import.meta.main) {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [directory] = positionals;
  if (directory === undefined) throw new Error("Usage: bun release/manual.ts DIR");
  writeManual(directory);
}
