type CharTest = (char: string) => boolean;
/** A character, or a test of one. */
type Token = CharTest | string;
/** A name in a pattern; plain text where it has no wildcards. */
type Part = readonly (Token | typeof star)[] | string;

/** Any number of characters among tokens, any number of names among parts. */
const star = null;

/**
 * Compiles a pattern as .gitignore has it, for paths that are split into their names: `*`, `?`, `[a-z]`, `\` and, as a
 * whole name, `**`. A match takes at most the product of both lengths, whatever the pattern is: commands write
 * patterns, and koda matches them on its own thread. One that is not well-formed matches nothing, as in git.
 */
export function compileWildcards(pattern: string): (names: readonly string[]) => boolean {
  const parts = partsOf(Array.from(pattern));
  if (parts === undefined) return () => false;
  // At the end `**` stands for at least one name.
  const whole: (Part | typeof star)[] = parts.at(-1) === star ? [...parts, [star]] : parts;
  return (names) => matches(whole, names, matchesName);
}

function matchesName(part: Part, name: string): boolean {
  if (typeof part === "string") return part === name;
  // Most names need not be taken apart: each of their characters is one unit.
  const chars = /[\ud800-\udbff]/.test(name) ? Array.from(name) : name;
  return matches(part, chars, fitsChar);
}

function fitsChar(token: Token, char: string): boolean {
  return typeof token === "string" ? token === char : token(char);
}

/** Between stars everything is found where it first occurs: if it is right at all, it is right there. */
function matches<Pattern extends NonNullable<unknown>, Item>(
  pattern: readonly (Pattern | typeof star)[],
  items: ArrayLike<Item>,
  fits: (pattern: Pattern, item: Item) => boolean,
): boolean {
  let [at, next] = [0, 0];
  let retry: { at: number; next: number } | undefined;
  while (at < items.length || next < pattern.length) {
    const item = items[at];
    const wanted = pattern[next];
    if (wanted === star) {
      next++;
      retry = { at, next };
    } else if (item !== undefined && wanted !== undefined && fits(wanted, item)) {
      at++;
      next++;
    } else {
      if (retry === undefined || retry.at >= items.length) return false;
      at = ++retry.at;
      next = retry.next;
    }
  }
  return true;
}

function partsOf(chars: readonly string[]): (Part | typeof star)[] | undefined {
  const parts: (Part | typeof star)[] = [];
  let tokens: (Token | typeof star)[] = [];
  let begin = 0;
  const finish = (end: number) => {
    parts.push(chars.slice(begin, end).join("") === "**" ? star : partOf(tokens));
    [tokens, begin] = [[], end + 1];
  };
  for (let at = 0; at < chars.length; at++) {
    const isEscape = chars[at] === "\\";
    const char = chars[isEscape ? ++at : at];
    if (char === undefined) return undefined;
    if (char === "/") finish(at);
    else if (isEscape) tokens.push(char);
    else if (char === "*") tokens.push(star);
    else if (char === "?") tokens.push(() => true);
    else if (char === "[") {
      const found = classAt(chars, at + 1);
      if (found === undefined) return undefined;
      tokens.push(found.test);
      at = found.end;
    } else tokens.push(char);
  }
  finish(chars.length);
  return parts;
}

function partOf(tokens: readonly (Token | typeof star)[]): Part {
  return tokens.every((token) => typeof token === "string") ? tokens.join("") : tokens;
}

type CharClass = { test: CharTest; end: number };

/** The class whose first character is at `from`; `end` is its bracket. Undefined when it is not well-formed. */
function classAt(chars: readonly string[], from: number): CharClass | undefined {
  const isNegated = chars[from] === "!" || chars[from] === "^";
  const first = isNegated ? from + 1 : from;
  const tests: CharTest[] = [];
  let low: string | undefined;
  // The next closing bracket is remembered: a search from each place would take the square of the length.
  let close = chars.indexOf("]", first);
  if (close === -1) return undefined;
  for (let at = first; at < chars.length; at++) {
    if (chars[at] === "]" && at > first)
      return { test: (char) => tests.some((test) => test(char)) !== isNegated, end: at };
    if (close !== -1 && close < at + 2) close = chars.indexOf("]", at + 2);
    if (chars[at] === "[" && chars[at + 1] === ":" && close > at + 2 && chars[close - 1] === ":") {
      const known = namedClasses.get(chars.slice(at + 2, close - 1).join(""));
      if (known === undefined) return undefined;
      tests.push((char) => known.test(char));
      [low, at] = [undefined, close];
      continue;
    }
    const lowest = chars[at] === "-" && at + 1 < chars.length && chars[at + 1] !== "]" ? low : undefined;
    if (lowest !== undefined) at++;
    if (chars[at] === "\\") at++;
    const char = chars[at];
    if (char === undefined) return undefined;
    tests.push((other) => (lowest ?? char) <= other && other <= char);
    low = lowest === undefined ? char : undefined;
  }
  return undefined;
}

/** By their names in `[[:name:]]`. */
const namedClasses: ReadonlyMap<string, RegExp> = new Map([
  ["alnum", /^[A-Za-z0-9]$/],
  ["alpha", /^[A-Za-z]$/],
  ["blank", /^[ \t]$/],
  // oxlint-disable-next-line no-control-regex -- it is the class of these
  ["cntrl", /^[\x00-\x1f\x7f]$/],
  ["digit", /^[0-9]$/],
  ["graph", /^[!-~]$/],
  ["lower", /^[a-z]$/],
  ["print", /^[ -~]$/],
  ["punct", /^[!-/:-@[-`{-~]$/],
  ["space", /^[ \t\n\v\f\r]$/],
  ["upper", /^[A-Z]$/],
  ["xdigit", /^[A-Fa-f0-9]$/],
]);
