import { readdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { modes } from "../config/config.ts";
import { errnoOf } from "../errors.ts";
import { lineCommands } from "./commands.ts";

const most = 100;

/** The continuations of a typed line, and the part of it that they replace. */
export function completionsOf(before: string, prompts: readonly string[], cwd: string): [string[], string] {
  if (/^\/[\w-]*$/.test(before)) {
    const names = [...lineCommands.map(({ name }) => name), ...prompts].map((name) => `/${name} `);
    return [names.filter((name) => name.startsWith(before)), before];
  }
  const [word = ""] = /\S*$/.exec(before) ?? [];
  if (/^\/mode\s/.test(before)) return [modes.filter((mode) => mode.startsWith(word)), word];
  const isAsked = word !== "" || before.startsWith("/");
  return [isAsked ? pathsFrom(word, cwd, /^\/cd\s/.test(before)) : [], word];
}

function pathsFrom(word: string, cwd: string, onlyDirectories: boolean): string[] {
  const directory = word.endsWith("/") ? word : word.includes("/") ? `${dirname(word)}/`.replace("//", "/") : "";
  const start = word.slice(directory.length);
  try {
    const entries = readdirSync(resolve(cwd, directory), { withFileTypes: true });
    return entries
      .filter((entry) => entry.name.startsWith(start) && (start !== "" || !entry.name.startsWith(".")))
      .filter((entry) => entry.isDirectory() || !onlyDirectories)
      .map((entry) => `${directory}${entry.name}${entry.isDirectory() ? "/" : ""}`)
      .sort()
      .slice(0, most);
  } catch (error) {
    // There is no such directory to complete from.
    if (errnoOf(error) !== undefined) return [];
    throw error;
  }
}
