/**
 * Cuts that never fall inside of what a reader takes for one character: an emoji with its modifiers, a letter with its
 * accents. Lengths are in UTF-16 units, as everywhere in JavaScript.
 */
let segmenter: Intl.Segmenter | undefined;

/** Only so much around a cut is looked at: a segmenter first copies the text that it is given. */
const surroundings = 1000;

/** The nearest place at or before `index` where the text may be cut. */
export function cutBefore(text: string, index: number): number {
  if (index <= 0) return 0;
  if (index >= text.length) return text.length;
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const from = Math.max(0, index - surroundings);
  const segment = segmenter.segment(text.slice(from, index + surroundings)).containing(index - from);
  return segment === undefined ? index : from + segment.index;
}

/** The beginning of a text, at most `max` long, with an ellipsis in place of the rest. */
export function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, cutBefore(text, max - 1))}…`;
}
