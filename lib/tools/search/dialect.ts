import { type Cursor, Fault, take, takeIf, takeUntil } from "./cursor.ts";
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
    if (error instanceof Fault) return { message: error.message, at: error.at };
    if (error instanceof SyntaxError) return { message: error.message.replace(/^.*: /, "") };
    throw error;
  }
}

/** An open group. `flags` are the wrappers that an inline flag like `(?i)` opened: it holds to the end of the group. */
type Group = { at: number; flags: string[] };

/** Whether a quantifier may come next, and after it a `?`. */
type Before = "nothing" | "atom" | "quantifier";

function translate(cursor: Cursor): string {
  const groups: Group[] = [{ at: 0, flags: [] }];
  let before: Before = "nothing";
  let out = "";
  const add = (source: string, now: Before) => {
    out += source;
    before = now;
  };

  while (cursor.at < cursor.text.length) {
    const at = cursor.at;
    const group = groups.at(-1) ?? { at, flags: [] };
    const char = take(cursor);
    switch (char) {
      case "\\": {
        const { source, isAssertion } = escapeOf(cursor, at);
        add(source, isAssertion ? "nothing" : "atom");
        break;
      }
      case "[":
        add(classOf(cursor, at), "atom");
        break;
      case "(": {
        const opened = openGroup(cursor, at);
        out += opened.source;
        before = "complete" in opened ? "atom" : "nothing";
        if ("flag" in opened) group.flags.push(opened.source);
        else if (!("complete" in opened)) groups.push({ at, flags: [] });
        break;
      }
      case ")":
        if (groups.length === 1) throw new Fault("unmatched )", at);
        groups.pop();
        add(")".repeat(group.flags.length + 1), "atom");
        break;
      case "|":
        add(`${")".repeat(group.flags.length)}|${group.flags.join("")}`, "nothing");
        break;
      case "*":
      case "+":
      case "?":
      case "{": {
        const quantifier = quantifierOf(cursor, char, at);
        if (quantifier === undefined) {
          add("\\{", "atom");
          break;
        }
        if (before === "nothing") throw new Fault(`nothing to repeat before ${quantifier}`, at);
        if (before === "quantifier") throw new Fault(`${quantifier} after another quantifier`, at);
        add(takeIf(cursor, "?") ? `${quantifier}?` : quantifier, "quantifier");
        break;
      }
      case "^":
      case "$":
        add(char, "nothing");
        break;
      case ".":
        add("[^\\n\\r]", "atom");
        break;
      case "\n":
        throw new Fault("a match never spans lines", at);
      default:
        add(literal(char), "atom");
    }
  }

  const open = groups.length > 1 ? groups.at(-1) : undefined;
  if (open !== undefined) throw new Fault("unclosed group", open.at);
  return out + ")".repeat(groups[0]?.flags.length ?? 0);
}

type Opened = { source: string } | { source: string; flag: true } | { source: string; complete: true };

/** What follows a `(`: a group, an inline flag for the rest of the group around it, or `(?P=name)`. */
function openGroup(cursor: Cursor, at: number): Opened {
  if (!takeIf(cursor, "?")) return { source: "(" };
  for (const kind of [":", "=", "!", "<=", "<!"]) if (takeIf(cursor, kind)) return { source: `(?${kind}` };
  if (takeIf(cursor, "P=")) return { source: `\\k<${nameUntil(cursor, ")", at)}>`, complete: true };
  if (takeIf(cursor, "P<") || takeIf(cursor, "<")) return { source: `(?<${nameUntil(cursor, ">", at)}>` };

  const flags = /^([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])/.exec(cursor.text.slice(cursor.at));
  if (flags === null) throw new Fault("unknown kind of group", at);
  const [whole, on = "", off = "", end] = flags;
  const unknown = /[^imsu]/.exec(on) ?? /[^ims]/.exec(off);
  if (unknown !== null) throw new Fault(`the flag ${unknown[0]} is not supported`, at);
  cursor.at += whole.length;
  // Within one line the others change nothing.
  const source = on.includes("i") ? "(?i:" : off.includes("i") ? "(?-i:" : "(?:";
  return end === ")" ? { source, flag: true } : { source };
}

function nameUntil(cursor: Cursor, end: string, at: number): string {
  const name = takeUntil(cursor, end);
  if (name === undefined || !/^[A-Za-z_]\w*$/.test(name)) throw new Fault("bad group name", at);
  return name;
}

/** A `{` that does not begin a quantifier stands for itself, as in `interface Foo {`. */
function quantifierOf(cursor: Cursor, char: string, at: number): string | undefined {
  if (char !== "{") return char;
  const range = /^(\d*)(,?)(\d*)\}/.exec(cursor.text.slice(cursor.at));
  const [whole, from = "", comma = "", to = ""] = range ?? [];
  if (whole === undefined || (from === "" && to === "")) return undefined;
  cursor.at += whole.length;
  if (to !== "" && Number(to) < Number(from)) throw new Fault("numbers out of order in the quantifier", at);
  if (Number(from) > maxRepeat || Number(to) > maxRepeat) throw new Fault(`more than ${maxRepeat} repetitions`, at);
  return `{${from === "" ? "0" : from}${comma}${to}}`;
}

const maxRepeat = 1000;
