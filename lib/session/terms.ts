import { WordTable } from "./wordtable.ts";

/** Scripts that put no spaces between words: they are indexed by overlapping pairs of characters. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;

const beyondAscii = /\P{ASCII}/u;
const allWords = /[\p{L}\p{N}\p{M}]+/gu;
/** Most of a text's ASCII words are shorter, and have no parts that anybody looks for. */
const shortestAscii = 4;

const humped = /[\p{Ll}\p{N}]\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u;
const humps = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;

/** Longer ones are encoded data: they have no parts and nobody looks for a part of them. */
export const longestWord = 40;

const numberOrHash = /^(?=[a-f]*\d)[\da-f]{4,}$/;

/** Numbers and hashes: most of a log's new words, and seldom in it again later. */
export function isNumberOrHash(word: string): boolean {
  return numberOrHash.test(word);
}

/** A text for the index: as it is read, and the parts of its names (`parse` and `Config` of `parseConfig`). */
export type IndexText = { text: string; parts: string };

/** Prepares texts for the index, and gathers all of their words. A word is seldom looked at twice. */
export class TextPreparation {
  /** Words by their spelling, with their parts. */
  readonly #seen = new Map<string, string>();
  readonly #ascii = new WordTable((word) => this.#partsOfNewAscii(word));
  /** Those that were first seen since they were last taken, as the index spells them. */
  words: string[] = [];

  prepare(text: string): IndexText {
    if (!beyondAscii.test(text)) return { text, parts: this.#ascii.valuesIn(text, shortestAscii).join(" ") };
    const spaced = withPairs(text);
    const parts: string[] = [];
    for (const word of spaced.match(allWords) ?? []) {
      let known = this.#seen.get(word);
      if (known === undefined) this.#seen.set(word, (known = this.#partsOfNew(word)));
      if (known !== "") parts.push(known);
    }
    return { text: spaced, parts: parts.join(" ") };
  }

  takeWords(): string[] {
    const words = this.words;
    this.words = [];
    // A word keeps the text in memory that it is a piece of.
    this.#seen.clear();
    this.#ascii.clear();
    return words;
  }

  /** Most words have no capitals, and then nothing to look at. */
  #partsOfNewAscii(word: string): string {
    const lower = word.toLowerCase();
    if (lower !== word) return this.#partsOfNew(word);
    if (word.length <= longestWord) this.words.push(lower);
    return "";
  }

  #partsOfNew(word: string): string {
    if (word.length <= longestWord) this.words.push(folded(word));
    return partsOf(word).join(" ");
  }
}

/** A word of a query: `sequence` stands in this order in a text that has it, `parts` are those of its names. */
export type Term = { sequence: string[]; parts: string[] };

/** A whole text may have been pasted as one word; its beginning is as telling. */
const longestSequence = 40;

/** Undefined for a word without letters and digits, which the index does not have. */
export function termOf(word: string): Term | undefined {
  const words = (withPairs(word).match(allWords) ?? []).slice(0, longestSequence);
  if (words.length === 0) return undefined;
  return { sequence: words.map(folded), parts: words.flatMap(partsOf).map(folded) };
}

/** `数据库` becomes ` 数据 据库 `. */
function withPairs(text: string): string {
  return beyondAscii.test(text) ? text.replace(unspaced, (run) => ` ${pairsOf(run)} `) : text;
}

function pairsOf(run: string): string {
  const characters = [...run];
  if (characters.length < 2) return run;
  return characters
    .slice(1)
    .map((character, at) => `${characters[at]}${character}`)
    .join(" ");
}

function partsOf(word: string): string[] {
  return word.length <= longestWord && humped.test(word) ? word.split(humps) : [];
}

/** As the index spells it: without case, and Latin letters without accents. */
function folded(word: string): string {
  const plain = word.toLowerCase();
  return beyondAscii.test(plain)
    ? plain
        .normalize("NFD")
        .replaceAll(/(?<=\p{Script=Latin}\p{M}*)\p{M}/gu, "")
        .normalize("NFC")
    : plain;
}
