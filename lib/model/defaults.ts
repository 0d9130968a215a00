/**
 * The models that are used when only a provider is named, or nothing. Each was compared with the catalog and with a
 * stored copy of the provider's documentation on 2026-11-19; none was asked for. Azure's names are the user's own.
 */
export const defaultModels: Readonly<Record<string, string>> = {
  openai: "gpt-6-sol",
  anthropic: "claude-sonnet-5",
  gemini: "gemini-3.8-flash",
  openrouter: "anthropic/claude-sonnet-5",
  groq: "openai/gpt-oss-120b",
  xai: "grok-4.6",
  deepseek: "deepseek-v4-flash",
  mistral: "mistral-medium-3-5",
  together: "openai/gpt-oss-120b",
  fireworks: "accounts/fireworks/models/glm-5p2",
  minimax: "MiniMax-M3",
  moonshot: "kimi-k2.7-code",
  zai: "glm-5.3",
  qwen: "qwen3.7-plus",
  cerebras: "gpt-oss-120b",
  nvidia: "nvidia/nemotron-3-super-120b-a12b",
  vercel: "anthropic/claude-sonnet-5",
  bedrock: "openai.gpt-oss-120b-1:0",
  vertex: "google/gemini-3.8-flash",
  huggingface: "openai/gpt-oss-120b",
};
