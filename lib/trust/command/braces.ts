import type { WordPart } from "./parse.ts";
import { cutAtPattern, exact, tame, wild, type Text } from "./text.ts";

/** Expands `{a,b}` and `{1..9}`. One with quotes, expansions or homes between its braces is not taken apart. */
export function braced(part: Extract<WordPart, { type: "BraceExpansion" }>): readonly Text[] {
  const isPlain = part.parts?.every(({ type }) => type === "Literal" || type === "Glob") ?? true;
  if (!isPlain || isLarge(part.text) || part.text.includes("~")) return [wild];
  const choices = choicesOf(part.text.slice(1, -1));
  if (choices.length === 1) return [tame("")];
  return choices.flatMap(expandBraces).map((choice) => cutAtPattern(exact(choice)));
}

/** Nested braces multiply. */
function isLarge(text: string): boolean {
  return text.split("{").length > 6 || text.split(",").length > 24;
}

/** The text up to the first braces, each of their choices, and the rest. */
function expandBraces(text: string): readonly string[] {
  const open = text.indexOf("{");
  const close = open === -1 ? -1 : closing(text, open);
  if (close === -1) return [text];
  const choices = choicesOf(text.slice(open + 1, close));
  const rests = expandBraces(text.slice(close + 1));
  return choices.flatMap(expandBraces).flatMap((choice) => rests.map((rest) => text.slice(0, open) + choice + rest));
}

function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === "{") depth++;
    else if (text[at] === "}" && --depth === 0) return at;
  }
  return -1;
}

/** Split at the commas that belong to these braces and not to inner ones. */
function choicesOf(inner: string): readonly string[] {
  const choices = [""];
  let depth = 0;
  for (const character of inner) {
    if (character === "{") depth++;
    if (character === "}") depth--;
    if (character === "," && depth === 0) choices.push("");
    else choices[choices.length - 1] += character;
  }
  return choices;
}
