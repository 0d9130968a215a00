import { withCommas } from "../counted.ts";
import type { ModelInfo } from "../model/model.ts";
import { estimateTokens } from "../session/contextsize.ts";

/** The reason why a text for an agent is too long; the other half of what its model can hold is for its work. */
export function whyTooLong(text: string, { name, contextWindow }: ModelInfo): string | undefined {
  const tokens = estimateTokens(Buffer.byteLength(text));
  const most = Math.floor(contextWindow / 2);
  if (tokens <= most) return undefined;
  return (
    `it has about ${withCommas(tokens)} tokens, and at most ${withCommas(most)} are possible with the model "${name}". ` +
    "Write the long part to a file, and say where it is"
  );
}
