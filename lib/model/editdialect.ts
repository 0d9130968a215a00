import type { EditDialect } from "../config/config.ts";

/**
 * Families of models that are trained on patches, by OpenAI's own tools for them (2026-11): its agent gives all of its
 * models this format, and the repository of gpt-oss has it too. Every other model is offered Edit.
 */
const patchFamilies = /^(gpt-(\d|oss)|o[134](?![a-z0-9])|codex|chatgpt)/i;

/** The dialect of a model by its name, with or without vendors before it: `openai/gpt-5.5`, `openai.gpt-oss-120b`. */
export function editDialectOf(name: string): EditDialect {
  return name.split(/[/:]|(?<=[a-z])\./i).some((part) => patchFamilies.test(part)) ? "patch" : "edit";
}
