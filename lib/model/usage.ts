import type { Usage } from "./model.ts";

export const noUsage: Usage = { input: null, cached: null, output: null, reasoning: null };

/** A total is null only when nothing was ever reported. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = (x: number | null, y: number | null) => (x === null ? y : x + (y ?? 0));
  return {
    input: sum(a.input, b.input),
    cached: sum(a.cached, b.cached),
    ...((a.written ?? b.written) !== undefined && { written: (a.written ?? 0) + (b.written ?? 0) }),
    output: sum(a.output, b.output),
    reasoning: sum(a.reasoning, b.reasoning),
  };
}

/** A few servers do as Anthropic does, and count the input that was cached beside the rest of it. */
export function withCachedInput(usage: Usage): Usage {
  const { input, cached, written = 0 } = usage;
  const beside = (cached ?? 0) + written;
  return input === null || beside <= input ? usage : { ...usage, input: input + beside };
}
