import type { ModelFacts } from "./model.ts";

/**
 * Facts that the catalog lacks, by the model's own name wherever it is offered: from the documentation of those who
 * made the models, 2026-11. All rows that match count, later ones first. What is not here is not known.
 */
const rows: readonly (readonly [name: RegExp, facts: Partial<ModelFacts>])[] = [
  [/^gpt-[56]/, { maxOutput: 128_000, images: true, refuses: ["temperature"] }],
  [/^gpt-5(\.\d)?-chat/, { maxOutput: 16_384 }],
  [/^gpt-5-chat/, { refuses: [] }],
  [/^gpt-4\.1/, { maxOutput: 32_768, images: true, refuses: ["reasoning_effort"] }],
  [/^gpt-4o/, { maxOutput: 16_384, images: true, refuses: ["reasoning_effort"] }],
  [/^gpt-(3\.5|4($|-))/, { refuses: ["reasoning_effort"] }],
  [/^gpt-oss/, { contextWindow: 131_072, images: false }],
  [/^o[134]/, { maxOutput: 100_000, refuses: ["temperature"] }],
  [/^(o1|o3|o4-mini)(-pro|-deep-research)?($|-\d{4})/, { images: true }],

  [/claude-(?!v?[12])/, { contextWindow: 200_000, images: true }],
  [/claude-3(?![-.]7)/, { maxOutput: 4096, refuses: ["reasoning_effort"] }],
  [/claude-3[-.]5/, { maxOutput: 8192 }],
  [/claude-(3[-.]7|sonnet-4|4-sonnet|haiku-4[-.]5|opus-4[-.]5)/, { maxOutput: 64_000 }],
  [/claude-opus-4([-.][01])?($|[-@]\d{8})/, { maxOutput: 32_000 }],
  [/claude-(opus|sonnet)-4[-.]6/, { contextWindow: 1_000_000 }],
  [/claude-(opus-4[-.][678]|opus-5|sonnet-5|fable-5)/, { contextWindow: 1_000_000, maxOutput: 128_000 }],
  [/claude-(opus-4[-.][78]|opus-5|sonnet-5|fable-5)/, { refuses: ["temperature"] }],

  [/^gemini-(1\.5|2|3)/, { images: true }],
  [/^gemini-2\.0/, { contextWindow: 1_048_576, maxOutput: 8192 }],
  [/^gemini-(2\.5|3)/, { contextWindow: 1_048_576, maxOutput: 65_536 }],
  [/^grok-4/, { images: true }],
  [/^grok-(4(-0709|-latest)?$|3(?!-mini)|code)/, { refuses: ["reasoning_effort"] }],
  [/^grok-(3|code)/, { images: false }],
  [/^deepseek-(chat|reasoner|v3|r1)/, { images: false }],
  [/^kimi-k2(?![.p]\d)/, { images: false }],
  [/^kimi-k(2[.p][5-7]|3)/, { images: true }],
  [/^qwen3\.[67]-plus/, { contextWindow: 1_000_000, images: true }],
  [/^minimax-m[12]/i, { images: false }],
  [/^glm-4\.[567](?!v)/i, { images: false }],
  [/^(codestral|devstral|ministral|pixtral|open-mi|mistral-(large|nemo))/, { refuses: ["reasoning_effort"] }],
  [/^llama-?(3[.-][13]|v3p[13])/i, { images: false, refuses: ["reasoning_effort"] }],
];

/** The facts about a model; `openai/gpt-6-sol` and `accounts/fireworks/models/gpt-oss-120b` end in its own name. */
export function reviewedFacts(name: string): Partial<ModelFacts> {
  const own = name.slice(name.lastIndexOf("/") + 1);
  const matching = rows.filter(([pattern]) => pattern.test(own));
  return matching.reduce<Partial<ModelFacts>>((all, [, facts]) => ({ ...all, ...facts }), {});
}
