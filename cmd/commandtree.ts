import { commands, families, type CommandName } from "./commands.ts";

/** The words that may follow a path: `list`, `show`… after `session`. */
export function wordsBelow(path: string): string[] {
  const depth = path === "" ? 0 : path.split(" ").length;
  const below = Object.keys(commands).filter((name) => path === "" || name.startsWith(`${path} `));
  return [...new Set(below.map((name) => name.split(" ")[depth] ?? ""))];
}

export function isCommand(path: string): path is CommandName {
  return Object.hasOwn(commands, path);
}

/** True for a word that only leads to other commands. */
export function isFamily(path: string): boolean {
  return !isCommand(path) && wordsBelow(path).length > 0;
}

/** One line about a command or a family of commands. */
export function aboutOf(path: string): string {
  return isCommand(path) ? commands[path].about : (families[path] ?? "");
}

/** The path of a word below another path; "" is koda itself. */
export function commandPath(path: string, word: string): string {
  return path === "" ? word : `${path} ${word}`;
}
