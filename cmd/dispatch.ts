import { defineCommand, runCommand, type CommandDef } from "citty";
import { helpWanted, readOptions, suggestion, usageError } from "./arguments.ts";
import type { CommandName } from "./commands.ts";
import { isCommand, isFamily, join, wordsBelow } from "./commandtree.ts";
import { helpFlag, rootFlags } from "./flags.ts";
import { ownWord } from "./foreign.ts";
import type { Options } from "./options.ts";

/** What each command does with its options; the number is the process's exit code. */
export type Handlers = { readonly [N in CommandName]: (options: Options<N>) => Promise<number> };

/** Where help goes. */
export type Page = { readonly columns: () => number; readonly print: (text: string) => Promise<void> };

/**
 * Finds the command that the arguments name, reads its options strictly and hands them over. citty walks the tree;
 * since it takes any flag for granted, every word is checked here before citty looks at it.
 */
export async function dispatch(argv: readonly string[], handlers: Handlers, page: Page): Promise<number> {
  const topic = helpTopic(argv);
  if (topic !== undefined) return await showHelp(topic, page);

  let exit = 0;
  const leaf = (name: CommandName): CommandDef =>
    defineCommand({
      run: async ({ rawArgs }) => {
        exit = await perform(name, rawArgs, handlers, page);
      },
    });
  const branch = (path: string): CommandDef =>
    defineCommand({
      setup: ({ rawArgs }) => checkWord(path, rawArgs),
      subCommands: Object.fromEntries(
        wordsBelow(path).map((word) => {
          const below = join(path, word);
          return [word, isCommand(below) ? leaf(below) : branch(below)];
        }),
      ),
    });
  await runCommand(branch(""), { rawArgs: [...argv] });
  return exit;
}

async function perform<N extends CommandName>(
  name: N,
  argv: readonly string[],
  handlers: Handlers,
  page: Page,
): Promise<number> {
  const options = readOptions(name, argv);
  return options === helpWanted ? await showHelp(name, page) : await handlers[name](options);
}

/**
 * The page asked for by `koda`, `koda --help`, `koda help CMD`, `koda session --help` or `koda session help CMD`; a
 * command's own -h it finds itself.
 */
function helpTopic(argv: readonly string[]): string | undefined {
  const isHelp = (word: string | undefined) => word === "-h" || word === "--help";
  const [first, second, ...rest] = argv;
  if (first === undefined || isHelp(first)) return "";
  if (isFamily(first) && isHelp(second)) return first;
  const isBelow = isFamily(first) && second === "help";
  if (first !== "help" && !isBelow) return undefined;

  const words = (isBelow ? [first, ...rest] : argv.slice(1)).filter((word) => !isHelp(word));
  for (const [index] of words.entries()) checkWord(words.slice(0, index).join(" "), words.slice(index));
  return words.join(" ");
}

async function showHelp(topic: string, page: Page): Promise<number> {
  const { helpPage } = await import("./help.ts");
  await page.print(helpPage(topic, page.columns()));
  return 0;
}

/** Refuses whatever is no command here, before it is looked up. */
function checkWord(path: string, [word, ...rest]: readonly string[]): void {
  const words = wordsBelow(path);
  if (word !== undefined && words.includes(word)) return;
  const known = `expected ${words.join(", ")}`;
  if (words.length === 0) throw usageError(path, `Unexpected argument "${word}"`);
  if (word === undefined) throw usageError(path, `No command given: ${known}`);
  if (isVersion(word)) throw usageError(path, `${word} takes no argument, but "${rest[0]}" follows`);
  const answer = foreignAnswer(path, word, rest[0]);
  if (word.startsWith("-")) {
    if (answer !== undefined)
      throw usageError(path, `Unknown flag "${word}": ${answer}\nFlags follow a command: koda exec "PROMPT" FLAGS`);
    const flags = Object.keys(path === "" ? rootFlags : helpFlag).map((name) => `--${name}`);
    const order = `a command comes first (${words.join(", ")}), then its flags`;
    throw usageError(path, `Unknown flag "${word}"${suggestion(word, flags)}: ${order}`);
  }
  const unknown = `Unknown command "${join(path, word)}"`;
  if (answer !== undefined) throw usageError(path, `${unknown}: ${answer}`);
  const quoted = path === "" && /\s/.test(word) ? `; for a task write koda exec "${word}"` : "";
  throw usageError(path, `${unknown}${suggestion(word, words)}: ${known}${quoted}`);
}

/** Flags of other agents are answered where they stand before a command; behind one they are its own. */
function foreignAnswer(path: string, word: string, next: string | undefined): string | undefined {
  if (!word.startsWith("-")) return ownWord(join(path, word));
  const [written = "", attached] = word.split("=", 2);
  return path === "" ? ownWord(written, attached ?? next) : undefined;
}

/** `-v` is the version only before any command. */
function isVersion(word: string | undefined): boolean {
  return word === "--version" || word === "-V" || word === "-v";
}
