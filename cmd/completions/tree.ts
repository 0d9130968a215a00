import { commands, families, type CommandSpec } from "../commands.ts";
import { aboutOf, commandPath, wordsBelow } from "../commandtree.ts";
import { rootFlags, type Flag, type Flags } from "../flags.ts";
import type { ArgumentType } from "../values.ts";

/** A word that may follow, with one line about it. */
export type Word = { readonly word: string; readonly about: string };

/** A position in the command line, with everything that may follow. */
export type Node = {
  /** The words before it: "", "session", "session list". */
  readonly path: string;
  readonly words: readonly Word[];
  readonly flags: Flags;
  /** The types of the positional arguments, in order. */
  readonly positionals: readonly ArgumentType<unknown>[];
  /** After `--` a program and its arguments follow. */
  readonly line: boolean;
  /** The last argument may be repeated. */
  readonly many?: boolean;
};

/** All positions in the command tree, including `koda help`. */
export function nodes(): Node[] {
  const leaves = Object.entries<CommandSpec>(commands).map(([path, command]) => ({
    path,
    words: [],
    flags: command.flags,
    positionals: Object.values(command.positionals).map(({ value }) => value),
    line: Object.values(command.positionals).some(({ line }) => line),
    many: Object.values(command.positionals).some(({ many }) => many),
  }));
  const branches = ["", ...Object.keys(families)].map((path) => branch(path));
  const help: Node = { path: "help", words: wordsAfter(""), flags: {}, positionals: [], line: false };
  return [...branches, help, ...leaves];
}

function branch(path: string): Node {
  const words = wordsAfter(path);
  const flags = path === "" ? rootFlags : { help: rootFlags.help };
  const help = path === "" ? [{ word: "help", about: "Show help" }] : [];
  return { path, words: [...words, ...help], flags, positionals: [], line: false };
}

function wordsAfter(path: string): Word[] {
  return wordsBelow(path).map((word) => ({ word, about: aboutOf(commandPath(path, word)) }));
}

/** `--model` and `-m`. */
export function spellingsOf(name: string, { short }: Flag): string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
}
