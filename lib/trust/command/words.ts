import { braced } from "./braces.ts";
import { outputOf } from "./output.ts";
import type { ParameterExpansionPart, Word, WordPart } from "./parse.ts";
import type { ShellScope } from "./scope.ts";
import { append, combine, exact, tame, unquoted, wild, type Text } from "./text.ts";

/**
 * The texts that a word may become: its fields and its alternatives alike, since each of them has to be looked at. None
 * when the word vanishes, as an empty unquoted variable does.
 */
export function expand(word: Word, scope: ShellScope): readonly Text[] {
  if (word.parts === undefined) return [tilde(word.value, word.text, scope)];
  const [first, ...others] = word.parts;
  if (first === undefined) return [exact("")];
  if (others.length === 0) return expandPart(first, scope, true);
  return word.parts.reduce<readonly Text[]>(
    (texts, part, index) => combine(texts, orEmpty(expandPart(part, scope, index === 0))),
    [exact("")],
  );
}

export function expandAll(words: readonly Word[], scope: ShellScope): readonly Text[] {
  return words.flatMap((word) => expand(word, scope));
}

function orEmpty(texts: readonly Text[]): readonly Text[] {
  return texts.length === 0 ? [exact("")] : texts;
}

function expandPart(part: WordPart, scope: ShellScope, atStart: boolean): readonly Text[] {
  switch (part.type) {
    case "Literal":
      return [atStart ? tilde(part.value, part.text, scope) : exact(part.value)];
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [exact(part.value)];
    case "DoubleQuoted":
    case "LocaleString":
      return part.parts.reduce<readonly Text[]>(
        (texts, child) => combine(texts, quotedPart(child, scope)),
        [exact("")],
      );
    case "Glob":
    case "ExtendedGlob":
      return [tame("")];
    case "BraceExpansion":
      return braced(part);
    case "ProcessSubstitution":
      return [exact("/dev/fd/63")];
    case "SimpleExpansion":
    case "ParameterExpansion":
    case "CommandExpansion":
    case "ArithmeticExpansion":
      return valueOf(part, scope).flatMap(unquoted);
    default:
      part satisfies never;
      return [wild];
  }
}

function quotedPart(part: WordPart, scope: ShellScope): readonly Text[] {
  if (part.type === "Literal") return [exact(part.value)];
  const texts = isExpansion(part) ? valueOf(part, scope) : [wild];
  return orEmpty(texts);
}

type Expansion = Extract<
  WordPart,
  { type: "SimpleExpansion" | "ParameterExpansion" | "CommandExpansion" | "ArithmeticExpansion" }
>;

function isExpansion(part: WordPart): part is Expansion {
  return /^(Simple|Parameter|Command|Arithmetic)Expansion$/.test(part.type);
}

function valueOf(part: Expansion, scope: ShellScope): readonly Text[] {
  switch (part.type) {
    case "SimpleExpansion":
      return variable(part.text.slice(1), scope) ?? [wild];
    case "ParameterExpansion":
      return parameter(part, scope) ?? [wild];
    case "CommandExpansion":
      return (part.script && outputOf(part.script, scope, expand)) ?? [wild];
    case "ArithmeticExpansion":
      return [tame("")];
    default:
      part satisfies never;
      return [wild];
  }
}

/** `$#`, `$?`, `$$` and their like are numbers. */
const numbers = /^([#?$!]|RANDOM|SRANDOM|SECONDS|LINENO|UID|EUID|PPID|BASHPID|EPOCHSECONDS)$/;

function variable(name: string, scope: ShellScope): readonly Text[] | undefined {
  if (numbers.test(name)) return [tame("")];
  if (name === "*") return scope.variables.get("@");
  return scope.variables.get(name);
}

function parameter(part: ParameterExpansionPart, scope: ShellScope): readonly Text[] | undefined {
  if (part.prefix === "#") return [tame("")];
  if (part.prefix === "!") return undefined;
  const known = variable(part.parameter, scope);
  const { operation } = part;
  if (operation === undefined) return known;
  switch (operation.type) {
    case "Default": {
      if (operation.operator.endsWith("?")) return known;
      const instead = expand(operation.operand, scope);
      if (operation.operator.endsWith("+")) return [exact(""), ...instead];
      if (known === undefined) return [...instead, wild];
      return known.every(({ head, rest }) => head !== "" && rest === "none") ? known : [...known, ...instead];
    }
    case "Remove":
      return known?.map((text) => withoutEnd(text, operation.operator, operation.operand.value));
    case "Replace":
      return known?.map(inSameDirectory);
    case "CaseModification":
    case "Names":
    case "Slice":
    case "Transform":
    case "Unknown":
      return undefined;
    default:
      operation satisfies never;
      return undefined;
  }
}

// `##` up to the last slash leaves a name, `%` from the last slash on its directory, `${x%.js}` a file in that
// directory.
function withoutEnd(text: Text, operator: string, pattern: string): Text {
  const { head, rest } = text;
  if (operator === "##" && pattern === "*/") return rest === "none" ? exact(head.replace(/^.*\//s, "")) : tame("");
  if (operator.startsWith("#")) return wild;
  const cut = head.lastIndexOf("/");
  if (pattern === "/*") return rest === "none" && cut > 0 ? exact(head.slice(0, cut)) : inSameDirectory(text);
  if (rest === "none" && head.endsWith(pattern)) return exact(head.slice(0, head.length - pattern.length));
  return inSameDirectory(text);
}

function inSameDirectory({ head, rest }: Text): Text {
  const directory = head.slice(0, head.lastIndexOf("/") + 1);
  return rest === "wild" ? { head: directory, rest } : tame(directory);
}

/** `~` and `~/…` when nothing quotes the tilde; another user's home is nowhere that is known. */
function tilde(value: string, source: string, { around, cwds, previousCwds }: ShellScope): Text {
  if (!source.startsWith("~")) return exact(value);
  const slash = value.indexOf("/");
  const name = slash === -1 ? value : value.slice(0, slash);
  const home = { "~": around.home, "~+": only(cwds), "~-": only(previousCwds) }[name];
  return home === undefined ? wild : append(exact(home), exact(value.slice(name.length)));
}

function only(cwds: ShellScope["cwds"]): string | undefined {
  const [cwd, ...others] = cwds ?? [];
  return cwd?.exact === true && others.length === 0 ? cwd.path : undefined;
}
