import { applyEdits, modify, parseTree, printParseErrorCode, type Node, type ParseError } from "jsonc-parser";

/** `problem` begins with line and column: `3:14: expected a comma`. */
type ParsedJsonc = { ok: true; value: unknown } | { ok: false; problem: string };

type Duplicate = { key: string; offset: number };

/** JSON with comments and trailing commas. A duplicate key is an error, since one of the two would have no effect. */
export function parseJsonc(text: string): ParsedJsonc {
  const errors: ParseError[] = [];
  const duplicates: Duplicate[] = [];
  try {
    const tree = parseTree(text, errors, { allowTrailingComma: true });
    const [error] = errors;
    if (error !== undefined) return problemAt(text, error.offset, wordsOf(printParseErrorCode(error.error)));
    if (tree === undefined) return problemAt(text, text.length, wordsOf("ValueExpected"));
    const value = valueOf(tree, duplicates);
    const [twice] = duplicates;
    return twice === undefined ? { ok: true, value } : problemAt(text, twice.offset, `duplicate key "${twice.key}"`);
  } catch (error) {
    // The parser and valueOf recurse, so deep nesting overflows the stack.
    if (error instanceof RangeError) return { ok: false, problem: "it is nested too deeply" };
    throw error;
  }
}

function valueOf(node: Node, duplicates: Duplicate[]): unknown {
  const children = node.children ?? [];
  if (node.type === "array") return children.map((child) => valueOf(child, duplicates));
  if (node.type !== "object") return node.value;

  // Without a prototype, `__proto__` is a key like any other.
  const object: Record<string, unknown> = Object.create(null);
  for (const property of children) {
    const [name, value] = property.children ?? [];
    if (name === undefined || value === undefined) continue;
    const key = String(name.value);
    if (key in object) duplicates.push({ key, offset: property.offset });
    object[key] = valueOf(value, duplicates);
  }
  return object;
}

/** The text with another value at a path, or without one; everything else in it stays as it is. */
export function withValue(text: string, path: readonly string[], value: unknown): string {
  const [, indent = "  "] = /^([ \t]+)"/m.exec(text) ?? [];
  const formattingOptions = {
    insertSpaces: !indent.startsWith("\t"),
    tabSize: indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
  return applyEdits(text, modify(text, [...path], value, { formattingOptions }));
}

function problemAt(text: string, offset: number, problem: string): ParsedJsonc {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  const column = [...(before.at(-1) ?? "")].length + 1;
  return { ok: false, problem: `${before.length}:${column}: ${problem}` };
}

const words: Readonly<Record<string, string>> = {
  InvalidSymbol: "not valid JSON (strings need double quotes)",
  InvalidNumberFormat: "not a number",
  PropertyNameExpected: "expected a key in double quotes",
  ValueExpected: "expected a value",
  ColonExpected: "expected a colon",
  CommaExpected: "expected a comma",
  CloseBraceExpected: 'expected "}"',
  CloseBracketExpected: 'expected "]"',
  EndOfFileExpected: "expected the end of the file",
  UnexpectedEndOfComment: "unterminated comment",
  UnexpectedEndOfString: "unterminated string",
  UnexpectedEndOfNumber: "incomplete number",
  InvalidUnicode: "\\u needs four hexadecimal digits",
  InvalidEscapeCharacter: "invalid escape sequence",
  InvalidCharacter: "control character not allowed here",
};

function wordsOf(code: string): string {
  return words[code] ?? code;
}
