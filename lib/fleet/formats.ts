/** The formats of results, for flags; each is a file in formats/. */
export const resultFormats = ["jsonl", "junit", "csv", "patches", "swebench", "html"] as const;
export type ResultFormat = (typeof resultFormats)[number];
