import { forEachChild } from "./parse.ts";
import type { Command, SyntaxNode, Word, WordPart } from "./parse.ts";

/* A word is a text in which marks stand for what is not literal: characters that no text has. A script that has them
 * nevertheless is taken for less literal than it is. */

/** Any text, or none: the value of a variable, what a program prints. */
export const anything = "\ufdd0";
/** Text that is neither an option nor a path of its own: a number, or the name of a file that matched a pattern. */
export const something = "\ufdd1";
/** Nothing: the text before it is a guess, such as what `$(echo …)` prints. */
const guessed = "\ufdd2";

export const markAt = (text: string): number => text.search(/[\ufdd0-\ufdd2]/);
export const isLiteral = (text: string): boolean => markAt(text) === -1;
export const withoutGuess = (text: string): string => (text.includes(guessed) ? text.replaceAll(guessed, "") : text);
export const shownWord = (text: string): string => withoutGuess(text).replace(/[\ufdd0\ufdd1]+/g, "…");

/** The words that a word becomes, its alternatives among them. */
export function expand(word: Word, home: string): readonly string[] {
  if (word.parts === undefined) return [atHome(word.value, word.text, home)];
  const texts = product(word.parts.map((part, index) => partTexts(part, home, index === 0)));
  return /^(Command|Parameter)Expansion$/.test(word.parts[0]?.type ?? "") ? texts.flatMap(fields) : texts;
}

/** The words of a simple command: its program and its arguments. */
export function wordsIn({ name, args }: Command, home: string): readonly string[] {
  return [...(name === undefined ? [] : expand(name, home)), ...args.flatMap((arg) => expandArgument(arg, home))];
}

/** The arguments of `export` and its like may be assignments. */
export function expandArgument(arg: Command["args"][number], home: string): readonly string[] {
  if (arg.type === "Word") return expand(arg, home);
  const values = arg.value.type === "Word" ? [arg.value] : arg.value.elements;
  return values.flatMap((value) => expand(value, home)).map((text) => `${arg.name}=${text}`);
}

/** The words in a text; a guess makes a guess of each. */
export function fields(text: string): readonly string[] {
  const end = text.includes(guessed) ? guessed : "";
  return (withoutGuess(text).match(/[^ \t\n]+/g) ?? []).map((field) => field + end);
}

/** Beyond this, words stand for too much to look at each. */
const mostTexts = 64;
const mostCharacters = 200_000;

function product(parts: readonly (readonly string[])[]): readonly string[] {
  let texts: readonly string[] = [""];
  for (const next of parts) {
    if (texts.length * next.length > mostTexts || (texts[0] ?? "").length > mostCharacters) return [anything];
    texts = texts.flatMap((text) => next.map((one) => text + one));
  }
  return texts;
}

function partTexts(part: WordPart, home: string, atStart = false): readonly string[] {
  switch (part.type) {
    case "Literal":
      return [atStart ? atHome(part.value, part.text, home) : part.value];
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [part.value];
    case "DoubleQuoted":
    case "LocaleString":
      return product(part.parts.map((child) => partTexts(child, home)));
    case "Glob":
    case "ExtendedGlob":
    case "ArithmeticExpansion":
      return [something];
    case "BraceExpansion":
      return braced(part.text);
    case "ProcessSubstitution":
      return ["/dev/fd/63"];
    case "SimpleExpansion":
      return [/^\$[#?$!]$/.test(part.text) ? something : anything];
    case "ParameterExpansion":
      if (part.prefix === "#") return [something];
      if (part.operation?.type !== "Default" || part.operation.operator.endsWith("?")) return [anything];
      return [...expand(part.operation.operand, home).map((text) => text + guessed), anything];
    case "CommandExpansion": {
      const text = part.script && printed(part.script, home);
      return [text === undefined || text === something ? (text ?? anything) : text.replace(/\n+$/, "") + guessed];
    }
    default:
      part satisfies never;
      return [anything];
  }
}

/** `~` and `~/…` when nothing quotes the tilde; another user's home is nowhere that is known. */
function atHome(value: string, source: string, home: string): string {
  if (!source.startsWith("~")) return value;
  return /^~(?=\/|$)/.test(value) ? home + value.slice(1) : anything;
}

/** `{a,b}`, inner ones first; one with quotes or expansions, or with very many, is not taken apart. */
function braced(text: string): readonly string[] {
  if (/["'\\$`~]/.test(text) || text.split(",").length > 24 || text.split("{").length > 6) return [anything];
  const [whole, choices] = /\{([^{}]*,[^{}]*)\}/.exec(text) ?? [];
  if (whole === undefined || choices === undefined) return [text.startsWith("{") ? something : text];
  return choices.split(",").flatMap((choice) => braced(text.replace(whole, () => choice)));
}

/**
 * The text that commands print when it stands in the script itself: `echo sudo ls | sh` has to be seen for what it is.
 * Whatever else is in a pipeline is taken to pass on what it reads. Undefined when there is none.
 */
export function printed(node: SyntaxNode, home: string, input?: string): string | undefined {
  if (node.type === "Pipeline")
    return node.commands.reduce<string | undefined>((text, command) => printed(command, home, text), input);
  if (node.type === "Word" || node.type === "Function") return undefined;
  const given =
    (node.type === "Redirected" || node.type === "Command" ? standardInput(node, home) : undefined) ?? input;
  if (node.type === "Command") return printedBy(wordsIn(node, home), given);
  const texts: string[] = [];
  forEachChild(node, (child) => {
    const text = printed(child, home, given);
    if (text !== undefined) texts.push(text);
  });
  return texts.length === 0 ? undefined : texts.join("\n");
}

/** Text that a command is given: the output of `<(…)`, here-documents and here-strings. */
export function standardInput(node: Extract<SyntaxNode, { redirects: unknown }>, home: string): string | undefined {
  const last = node.redirects.findLast(({ operator }) => operator.startsWith("<"));
  const target = last?.type === "HereDoc" ? undefined : last?.target;
  const args = node.type === "Command" ? node.args : [];
  for (const word of target === undefined ? args : [...args, target]) {
    const part = word.type === "Word" ? word.parts?.[0] : undefined;
    const text = part?.type === "ProcessSubstitution" && part.script ? printed(part.script, home) : undefined;
    if (text !== undefined) return text;
  }
  if (last?.type === "HereDoc") return last.body.text;
  return last?.type === "HereString" && target !== undefined ? expand(target, home)[0] : undefined;
}

function printedBy([program, ...words]: readonly string[], input: string | undefined): string | undefined {
  const operands = words.filter((word) => !/^-\w+$/.test(word));
  if (program === "echo") {
    const text = words.slice(words.findIndex((word) => !/^-[neE]+$/.test(word))).join(" ");
    return words.some((word) => /^-[nE]*e/.test(word)) ? unescaped(text) : text;
  }
  if (program === "printf") {
    const [format = "", ...rest] = words;
    const text = unescaped(format).replaceAll(/%[-\d.]*[sbqd]/g, () => rest.shift() ?? "");
    // The format is used again for the arguments that are left.
    return [text, rest.join(" "), ...rest].join("\n");
  }
  if (program === "which" || program === "command") return operands[0];
  return program === "git" && operands[0] === "merge-base" ? something : input;
}

function unescaped(text: string): string {
  const character = (digits: string, base: number) => String.fromCodePoint(Number.parseInt(digits, base));
  return text
    .replaceAll(/\\x([0-9a-f]{1,2})/gi, (_, digits: string) => character(digits, 16))
    .replaceAll(/\\0?([0-7]{1,3})/g, (_, digits: string) => character(digits, 8))
    .replaceAll(/\\([nt])/g, (_, letter) => (letter === "n" ? "\n" : "\t"));
}
