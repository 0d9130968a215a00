import { commands, families, type Command } from "../commands.ts";
import { aboutOf, join, wordsBelow } from "../commandtree.ts";
import { rootFlags, type Flag, type Flags } from "../flags.ts";
import type { Value } from "../values.ts";

/** A word that may follow, with what it is for. */
export type Word = { readonly word: string; readonly about: string };

/** A place in the command line that words lead to: what may follow there. */
export type Node = {
  /** The words so far: "", "session", "session list". */
  readonly path: string;
  readonly words: readonly Word[];
  readonly flags: Flags;
  /** What the arguments are, in order. */
  readonly places: readonly Value<unknown>[];
  /** Behind `--` a whole command line follows, of a program and its files. */
  readonly line: boolean;
};

/** Every place of the command tree, `koda help` included. */
export function nodes(): Node[] {
  const leaves = Object.entries<Command>(commands).map(([path, command]) => ({
    path,
    words: [],
    flags: command.flags,
    places: Object.values(command.positionals).map(({ value }) => value),
    line: Object.values(command.positionals).some(({ line }) => line),
  }));
  const branches = ["", ...Object.keys(families)].map((path) => branch(path));
  const help: Node = { path: "help", words: wordsAfter(""), flags: {}, places: [], line: false };
  return [...branches, help, ...leaves];
}

function branch(path: string): Node {
  const words = wordsAfter(path);
  const flags = path === "" ? rootFlags : { help: rootFlags.help };
  const help = path === "" ? [{ word: "help", about: "Show help" }] : [];
  return { path, words: [...words, ...help], flags, places: [], line: false };
}

function wordsAfter(path: string): Word[] {
  return wordsBelow(path).map((word) => ({ word, about: aboutOf(join(path, word)) }));
}

/** `--model` and `-m`. */
export function spellingsOf(name: string, { short }: Flag): string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
}
