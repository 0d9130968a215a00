/** A place in this session's log or outputs where the query occurs. */
export type RecallMatch = { where: string; snippet: string };

/** Looking back, past what the model still has in front of it. */
export type Recall = {
  /** At most ten matches, best first, each with about 200 characters cut at grapheme boundaries. */
  search(query: string): readonly RecallMatch[];
  /** The turn as text: prompt, calls, results, answer. */
  turn(turn: number): string | undefined;
};
