let segmenter: Intl.Segmenter | undefined;

/** The text around a cut that is segmented: a segmenter first copies its text. */
const surroundings = 1000;

/**
 * The nearest place at or before `index` that is not inside a grapheme, such as an emoji with its modifiers or a letter
 * with its accents. Lengths are in UTF-16 units.
 */
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
