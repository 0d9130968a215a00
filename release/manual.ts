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

/** The files by their names below the directory; `date` is the one in the pages, as in 2026-11-20. */
export function manualFiles(date: string): ReadonlyMap<string, string> {
  const stamp = { date, version };
  const pages = topics.map((topic) => [`man/man1/${pageName(topic)}.1`, commandPage(topic, stamp)] as const);
  return new Map([
    ...pages,
    ["man/man5/koda-config.5", configPage(stamp)],
    ["completions/koda.bash", bashScript()],
    ["completions/_koda", zshScript()],
    ["completions/koda.fish", fishScript()],
  ]);
}

export function writeManual(directory: string, date: string): void {
  for (const [name, text] of manualFiles(date)) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

/** The date of the commit, so that one commit gives the same bytes everywhere. */
export function commitDate(): string {
  const { stdout } = Bun.spawnSync(["git", "log", "-1", "--format=%cs"], { cwd: import.meta.dir });
  const date = stdout.toString().trim();
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) throw new Error("git cannot tell the date of the commit: run this in a clone");
  return date;
}

if (import.meta.main) {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [directory] = positionals;
  if (directory === undefined) throw new Error("Usage: bun release/manual.ts DIR");
  writeManual(directory, commitDate());
}
