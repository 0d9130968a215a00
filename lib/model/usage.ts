import type { Usage } from "./model.ts";

/** The usage of somebody who reports none. */
export const noUsage: Usage = { input: null, cached: null, output: null, reasoning: null };

/** Unknown plus known is known: a total says what was reported, and null only when nothing ever was. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = (x: number | null, y: number | null) => (x === null ? y : x + (y ?? 0));
  return {
    input: sum(a.input, b.input),
    cached: sum(a.cached, b.cached),
    output: sum(a.output, b.output),
    reasoning: sum(a.reasoning, b.reasoning),
  };
}
