/** The parts of the catalog that koda has, by the names of @pydantic/genai-prices. */
export const catalogNames = [
  "anthropic",
  "aws",
  "azure",
  "cerebras",
  "deepseek",
  "fireworks",
  "google",
  "groq",
  "huggingface_together",
  "minimax",
  "mistral",
  "moonshotai",
  "openai",
  "openrouter",
  "together",
  "x-ai",
  "zai",
] as const;
export type CatalogName = (typeof catalogNames)[number];

/** The release date of that package: prices are those of this day. */
export const catalogDate = "2026-09-23";
