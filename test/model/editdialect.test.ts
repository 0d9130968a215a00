import { expect, test } from "bun:test";
import { editDialectOf } from "../../lib/model/editdialect.ts";

const patch = `
  gpt-5.5 gpt-5-codex gpt-4.1-2025-04-14 gpt-4o GPT-5 openai/gpt-5.5 openai/gpt-5.5:free o1 o3 o3-mini o4-mini-2025-04-16 openai/o3
  codex-mini-latest chatgpt-4o-latest gpt-oss:20b openai/gpt-oss-120b accounts/fireworks/models/gpt-oss-120b
  openai.gpt-oss-120b-1:0 us.openai.gpt-oss-20b ft:gpt-4.1-mini:org::id azure/gpt-5`;

const edit = `
  claude-sonnet-4-5 anthropic/claude-opus-4.5 gemini-2.5-pro deepseek-chat grok-4 qwen3-coder:30b MiniMax-M2 o365 o1x
  gpt-j-6b gpt-neox-20b gpt4all gptq/model mycodex scripted openrouter/auto o5-mini llama-3.1-8b mistral/codestral`;

test.each(patch.trim().split(/\s+/))("%s is offered ApplyPatch", (name) => {
  expect(editDialectOf(name)).toBe("patch");
});

test.each(edit.trim().split(/\s+/))("%s is offered Edit", (name) => {
  expect(editDialectOf(name)).toBe("edit");
});
