import { type Cursor, PatternFault, take, takeIf, takeUntil } from "./cursor.ts";
import { classOf, escapeOf, literal } from "./symbols.ts";

/** Why a pattern cannot be used, and where in it, when that is known. */
export type BadPattern = { message: string; at?: number };

/**
 * A pattern in the syntax that ripgrep takes, as a JavaScript expression for one line at a time. The common subset, and
 * what models like to write of the rest: inline flags, `(?P<name>…)`, POSIX classes, `\A` and `\z`, `\<` and `\>`,
 * Unicode `\w`, `\d`, `\s` and `\b`, superfluous backslashes, a lone `{`. Not `(?x)`, class algebra (`&&`, `--`),
 * possessive quantifiers and what only Perl has (`\K`, `\h`, recursion): those are faults that say so.
 */
export function compilePattern(pattern: string, ignoreCase: boolean): RegExp | BadPattern {
  try {
    return new RegExp(translate({ text: pattern, at: 0 }), ignoreCase ? "iv" : "v");
  } catch (error) {
    if (error instanceof PatternFault) return { message: error.message, at: error.at };
    if (error instanceof SyntaxError) return { message: error.message.replace(/^.*: /, "") };
    throw error;
  }
}

/** An open group. `flags` are the wrappers that an inline flag like `(?i)` opened: it holds to the end of the group. */
type Group = { at: number; flags: string[] };

type Translation = {
  source: string;
  /** The groups around this place; the first is the whole pattern. */
  groups: [Group, ...Group[]];
  /** The part that a quantifier which comes next would repeat. */
  before: "nothing" | "atom" | "quantifier";
};

function translate(cursor: Cursor): string {
  const done: Translation = { source: "", groups: [{ at: 0, flags: [] }], before: "nothing" };
  while (cursor.at < cursor.text.length) translateNext(cursor, done);
  const open = done.groups.length > 1 ? done.groups.at(-1) : undefined;
  if (open !== undefined) throw new PatternFault("unclosed group", open.at);
  return done.source + ")".repeat(done.groups[0].flags.length);
}

function translateNext(cursor: Cursor, done: Translation): void {
  const at = cursor.at;
  const char = take(cursor);
  switch (char) {
    case "\\": {
      const { source, isAssertion } = escapeOf(cursor, at);
      return add(done, source, isAssertion ? "nothing" : "atom");
    }
    case "[":
      return add(done, classOf(cursor, at), "atom");
    case "(":
      return openGroup(cursor, done, at);
    case ")":
      return closeGroup(done, at);
    case "|": {
      const { flags } = innermost(done);
      return add(done, `${")".repeat(flags.length)}|${flags.join("")}`, "nothing");
    }
    case "*":
    case "+":
    case "?":
    case "{":
      return quantify(cursor, done, { char, at });
    case "^":
    case "$":
      return add(done, char, "nothing");
    case ".":
      return add(done, "[^\\n\\r]", "atom");
    case "\n":
      throw new PatternFault("a match never spans lines", at);
    default:
      return add(done, literal(char), "atom");
  }
}

function add(done: Translation, source: string, before: Translation["before"]): void {
  done.source += source;
  done.before = before;
}

function innermost({ groups }: Translation): Group {
  return groups.at(-1) ?? groups[0];
}

function openGroup(cursor: Cursor, done: Translation, at: number): void {
  const { source, kind } = groupStart(cursor, at);
  add(done, source, kind === "reference" ? "atom" : "nothing");
  if (kind === "flag") innermost(done).flags.push(source);
  if (kind === "group") done.groups.push({ at, flags: [] });
}

function closeGroup(done: Translation, at: number): void {
  const { flags } = innermost(done);
  if (done.groups.length === 1) throw new PatternFault("unmatched )", at);
  done.groups.pop();
  add(done, ")".repeat(flags.length + 1), "atom");
}

type GroupStart = { source: string; kind: "group" | "flag" | "reference" };

/** The rest of a `(`: a group, an inline flag for the rest of the group around it, or `(?P=name)`. */
function groupStart(cursor: Cursor, at: number): GroupStart {
  if (!takeIf(cursor, "?")) return { source: "(", kind: "group" };
  for (const mark of [":", "=", "!", "<=", "<!"])
    if (takeIf(cursor, mark)) return { source: `(?${mark}`, kind: "group" };
  if (takeIf(cursor, "P=")) return { source: `\\k<${nameUntil(cursor, ")", at)}>`, kind: "reference" };
  if (takeIf(cursor, "P<") || takeIf(cursor, "<"))
    return { source: `(?<${nameUntil(cursor, ">", at)}>`, kind: "group" };

  const flags = /^([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])/.exec(cursor.text.slice(cursor.at));
  if (flags === null) throw new PatternFault("unknown kind of group", at);
  const [whole, on = "", off = "", end] = flags;
  const unknown = /[^imsu]/.exec(on) ?? /[^ims]/.exec(off);
  if (unknown !== null) throw new PatternFault(`the flag ${unknown[0]} is not supported`, at);
  cursor.at += whole.length;
  // Within one line the others change nothing.
  const source = on.includes("i") ? "(?i:" : off.includes("i") ? "(?-i:" : "(?:";
  return { source, kind: end === ")" ? "flag" : "group" };
}

function nameUntil(cursor: Cursor, end: string, at: number): string {
  const name = takeUntil(cursor, end);
  if (name === undefined || !/^[A-Za-z_]\w*$/.test(name)) throw new PatternFault("bad group name", at);
  return name;
}

function quantify(cursor: Cursor, done: Translation, { char, at }: { char: string; at: number }): void {
  const quantifier = char === "{" ? repetition(cursor, at) : char;
  // A `{` that does not begin a quantifier stands for itself, as in `interface Foo {`.
  if (quantifier === undefined) return add(done, literal(char), "atom");
  if (done.before === "nothing") throw new PatternFault(`nothing to repeat before ${quantifier}`, at);
  if (done.before === "quantifier") throw new PatternFault(`${quantifier} after another quantifier`, at);
  add(done, takeIf(cursor, "?") ? `${quantifier}?` : quantifier, "quantifier");
}

const maxRepeat = 1000;

function repetition(cursor: Cursor, at: number): string | undefined {
  const [whole, from = "", comma = "", to = ""] = /^(\d*)(,?)(\d*)\}/.exec(cursor.text.slice(cursor.at)) ?? [];
  if (whole === undefined || (from === "" && to === "")) return undefined;
  cursor.at += whole.length;
  if (to !== "" && Number(to) < Number(from)) throw new PatternFault("numbers out of order in the quantifier", at);
  if (Number(from) > maxRepeat || Number(to) > maxRepeat)
    throw new PatternFault(`more than ${maxRepeat} repetitions`, at);
  return `{${from === "" ? "0" : from}${comma}${to}}`;
}
