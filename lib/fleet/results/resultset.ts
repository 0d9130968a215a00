import type { ResultRow } from "./row.ts";
import type { Tally } from "./tally.ts";

/** The results of a batch at one moment. The rows can be read several times, and are never all in memory. */
export type ResultSet = {
  /** The id of the batch, or of several. */
  name: string;
  tally: Tally;
  rows(): AsyncIterable<ResultRow>;
  patch(key: string): Promise<Uint8Array | undefined>;
};

/** A format: pieces of text, in order. */
export type ResultWriter = (results: ResultSet) => AsyncGenerator<string, void>;
