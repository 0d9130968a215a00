import type { ResultWriter } from "../results/resultset.ts";

/** A line for each task. */
export const jsonlResults: ResultWriter = async function* ({ rows }) {
  for await (const row of rows()) yield `${JSON.stringify(row)}\n`;
};
