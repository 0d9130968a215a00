import { type Cursor, PatternFault, peek, take, takeIf, takeUntil } from "./cursor.ts";

/** One character that stands for itself, in JavaScript's `v` syntax, inside or outside of a class. */
export function literal(char: string): string {
  return /[\^$\\.*+?()[\]{}|/&\-!#%,:;<=>@`~]/.test(char) ? `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}` : char;
}

const word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
const wordBefore = `(?<=[${word}])`;
const wordAfter = `(?=[${word}])`;
const noWordBefore = `(?<![${word}])`;
const noWordAfter = `(?![${word}])`;

/** Escapes for a set of characters, inside and outside of a class. */
const sets = new Map([
  ["d", "\\p{Nd}"],
  ["D", "\\P{Nd}"],
  ["s", "\\p{White_Space}"],
  ["S", "\\P{White_Space}"],
  ["w", `[${word}]`],
  ["W", `[^${word}]`],
]);

const assertions = new Map([
  ["b", `(?:${wordBefore}${noWordAfter}|${noWordBefore}${wordAfter})`],
  ["B", `(?:${wordBefore}${wordAfter}|${noWordBefore}${noWordAfter})`],
  ["<", `(?:${noWordBefore}${wordAfter})`],
  [">", `(?:${wordBefore}${noWordAfter})`],
  ["A", "^"],
  ["z", "$"],
  ["Z", "$"],
]);

const controls = new Map([
  ["t", "\\t"],
  ["r", "\\r"],
  ["f", "\\f"],
  ["v", "\\v"],
  ["a", "\\x07"],
  ["e", "\\x1b"],
]);

/** Translates an escape outside of a class; the backslash was taken, at `at`. */
export function escapeOf(cursor: Cursor, at: number): { source: string; isAssertion: boolean } {
  const assertion = assertions.get(peek(cursor));
  if (assertion !== undefined) {
    take(cursor);
    return { source: assertion, isAssertion: true };
  }
  const reference = /^(?:[1-9]|k<\w+>)/.exec(cursor.text.slice(cursor.at))?.[0];
  if (reference !== undefined) {
    cursor.at += reference.length;
    // The group keeps a digit that follows from becoming part of the number.
    return { source: `(?:\\${reference})`, isAssertion: false };
  }
  return { source: symbolOf(cursor, at).source, isAssertion: false };
}

/** One character, which may begin or end a range, or a set of them. */
type Symbol = { source: string; code?: number };

/** An escape that means the same inside and outside of a class. */
function symbolOf(cursor: Cursor, at: number): Symbol {
  const char = take(cursor);
  if (char === "") throw new PatternFault("nothing follows the backslash", at);
  if (char === "n") throw new PatternFault("a match never spans lines", at);
  const set = sets.get(char) ?? controls.get(char);
  if (set !== undefined) return { source: set };
  if (char === "p" || char === "P") return { source: propertyOf(cursor, char, at) };
  if (char === "x" || char === "u" || char === "U") return one(codeOf(cursor, char, at));
  if (/[A-Za-z0-9]/.test(char)) throw new PatternFault(`unknown escape \\${char}`, at);
  return one(char.codePointAt(0) ?? 0);
}

function one(code: number): Symbol {
  return { source: literal(String.fromCodePoint(code)), code };
}

/** `\x7f`, `\u00e9`, `\U0001f600`, and each with braces. */
function codeOf(cursor: Cursor, kind: "x" | "u" | "U", at: number): number {
  const digits = takeIf(cursor, "{") ? takeUntil(cursor, "}") : takeSome(cursor, { x: 2, u: 4, U: 8 }[kind]);
  const code = digits !== undefined && /^[0-9A-Fa-f]{1,8}$/.test(digits) ? Number.parseInt(digits, 16) : Infinity;
  if (code > 0x10ffff) throw new PatternFault(`bad character number after \\${kind}`, at);
  return code;
}

function takeSome(cursor: Cursor, count: number): string | undefined {
  const taken = cursor.text.slice(cursor.at, cursor.at + count);
  cursor.at += count;
  return taken.length === count ? taken : undefined;
}

/** `\pL`, `\p{Lu}`, `\p{Greek}`, `\p{^Lu}`. */
function propertyOf(cursor: Cursor, kind: "p" | "P", at: number): string {
  const named = (takeIf(cursor, "{") ? takeUntil(cursor, "}") : take(cursor)) ?? "";
  const isNegated = named.startsWith("^") !== (kind === "P");
  const name = named.replace(/^\^/, "");
  const known = [name, `Script=${name}`].find(isProperty);
  if (known === undefined) throw new PatternFault(`unknown character property "${named}"`, at);
  return `\\${isNegated ? "P" : "p"}{${known}}`;
}

function isProperty(name: string): boolean {
  try {
    return new RegExp(`\\p{${name}}`, "v").unicodeSets;
  } catch {
    // There is no list of them to ask, so a name that no expression takes is an unknown one.
    return false;
  }
}

const posix = new Map([
  ["alnum", "0-9A-Za-z"],
  ["alpha", "A-Za-z"],
  ["ascii", "\\x00-\\x7f"],
  ["blank", "\\t\\x20"],
  ["cntrl", "\\x00-\\x1f\\x7f"],
  ["digit", "0-9"],
  ["graph", "\\x21-\\x7e"],
  ["lower", "a-z"],
  ["print", "\\x20-\\x7e"],
  ["punct", "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e"],
  ["space", "\\t-\\r\\x20"],
  ["upper", "A-Z"],
  ["word", "0-9A-Za-z_"],
  ["xdigit", "0-9A-Fa-f"],
]);

/** A class in brackets; the opening one was taken, at `at`. */
export function classOf(cursor: Cursor, at: number): string {
  let out = takeIf(cursor, "^") ? "[^" : "[";
  // As the first of a class it is a character like any other.
  if (takeIf(cursor, "]")) out += literal("]");
  while (!takeIf(cursor, "]")) {
    if (cursor.at >= cursor.text.length) throw new PatternFault("unclosed class", at);
    for (const operator of ["&&", "--", "~~"])
      if (takeIf(cursor, operator)) throw new PatternFault(`${operator} in a class is not supported`, cursor.at - 2);
    out += rangeOf(cursor);
  }
  return `${out}]`;
}

function rangeOf(cursor: Cursor): string {
  const at = cursor.at;
  const from = memberOf(cursor);
  const isRange = from.code !== undefined && /^-[^\]-]/u.test(cursor.text.slice(cursor.at));
  if (!isRange) return from.source;
  take(cursor);
  const to = memberOf(cursor);
  if (to.code === undefined) throw new PatternFault("a range ends with one character", at);
  if (to.code < (from.code ?? 0)) throw new PatternFault("range out of order in a class", at);
  return `${from.source}-${to.source}`;
}

function memberOf(cursor: Cursor): Symbol {
  const at = cursor.at;
  const char = take(cursor);
  if (char === "\\") return takeIf(cursor, "b") ? one(8) : takeIf(cursor, "n") ? one(10) : symbolOf(cursor, at);
  if (char !== "[") return one(char.codePointAt(0) ?? 0);
  if (!takeIf(cursor, ":")) return nestedClassOf(cursor, at);
  const name = takeUntil(cursor, ":]") ?? "";
  const members = posix.get(name.replace(/^\^/, ""));
  if (members === undefined) throw new PatternFault(`unknown class "[:${name}:]"`, at);
  return { source: `[${name.startsWith("^") ? "^" : ""}${members}]` };
}

/** Without an end of its own the bracket stands for itself, as in `[^[]`. */
function nestedClassOf(cursor: Cursor, at: number): Symbol {
  const inside = cursor.at;
  try {
    return { source: classOf(cursor, at) };
  } catch (error) {
    if (!(error instanceof PatternFault)) throw error;
    cursor.at = inside;
    return one("[".charCodeAt(0));
  }
}
