import { defineCommand, runCommand, type CommandDef } from "citty";
import { helpRequested, parseArguments, suggestion, usageError } from "./arguments.ts";
import type { CommandName } from "./commands.ts";
import { commandPath, isCommand, isFamily, wordsBelow } from "./commandtree.ts";
import { helpFlag, rootFlags } from "./flags.ts";
import { answerForWord } from "./foreign.ts";
import type { CommandOptions } from "./options.ts";

/** The implementation of each command; it returns the exit code. */
export type Handlers = { readonly [N in CommandName]: (options: CommandOptions<N>) => Promise<number> };

/** The terminal that help pages are for. */
type HelpOutput = { readonly columns: () => number; readonly print: (text: string) => Promise<void> };

/**
 * Finds the command that the arguments name, parses its options and runs it. citty walks the command tree; it would
 * accept any flag, so every word is checked here first.
 */
export async function dispatchCommand(
  argv: readonly string[],
  handlers: Handlers,
  output: HelpOutput,
): Promise<number> {
  const topic = helpTopic(argv);
  if (topic !== undefined) return await showHelp(topic, output);

  let exit = 0;
  const leaf = (name: CommandName): CommandDef =>
    defineCommand({
      run: async ({ rawArgs }) => {
        exit = await perform(name, rawArgs, { handlers, output });
      },
    });
  const branch = (path: string): CommandDef =>
    defineCommand({
      setup: ({ rawArgs }) => checkWord(path, rawArgs),
      subCommands: Object.fromEntries(
        wordsBelow(path).map((word) => {
          const below = commandPath(path, word);
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
  { handlers, output }: { handlers: Handlers; output: HelpOutput },
): Promise<number> {
  const options = parseArguments(name, argv);
  return options === helpRequested ? await showHelp(name, output) : await handlers[name](options);
}

/**
 * The topic of `koda`, `koda --help`, `koda help CMD`, `koda session --help` or `koda session help CMD`. A command's
 * own -h is found by its parser.
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

async function showHelp(topic: string, output: HelpOutput): Promise<number> {
  const { helpPage } = await import("./help.ts");
  await output.print(helpPage(topic, output.columns()));
  return 0;
}

/** Throws a usage error for a word that is not a command here. */
function checkWord(path: string, [word, ...rest]: readonly string[]): void {
  const words = wordsBelow(path);
  if (word !== undefined && words.includes(word)) return;
  const expected = `expected ${words.join(", ")}`;
  if (words.length === 0) throw usageError(path, `Unexpected argument "${word}"`);
  if (word === undefined) throw usageError(path, `No command given: ${expected}`);
  if (isVersion(word)) throw usageError(path, `${word} takes no argument, but "${rest[0]}" follows`);
  const answer = foreignAnswer(path, word, rest[0]);
  if (word.startsWith("-")) {
    if (answer !== undefined)
      throw usageError(path, `Unknown flag "${word}": ${answer}\nFlags follow a command: koda exec "PROMPT" FLAGS`);
    const flags = Object.keys(path === "" ? rootFlags : helpFlag).map((name) => `--${name}`);
    const order = `a command comes first (${words.join(", ")}), then its flags`;
    throw usageError(path, `Unknown flag "${word}"${suggestion(word, flags)}: ${order}`);
  }
  const unknown = `Unknown command "${commandPath(path, word)}"`;
  if (answer !== undefined) throw usageError(path, `${unknown}: ${answer}`);
  const quoted = path === "" && /\s/.test(word) ? `; for a task write koda exec "${word}"` : "";
  throw usageError(path, `${unknown}${suggestion(word, words)}: ${expected}${quoted}`);
}

/** Flags of other agents get an answer only before a command; after one, its parser has the answer. */
function foreignAnswer(path: string, word: string, next: string | undefined): string | undefined {
  if (!word.startsWith("-")) return answerForWord(commandPath(path, word));
  const [written = "", attached] = word.split("=", 2);
  return path === "" ? answerForWord(written, attached ?? next) : undefined;
}

/** `-v` means --version only before a command. */
function isVersion(word: string | undefined): boolean {
  return word === "--version" || word === "-V" || word === "-v";
}
