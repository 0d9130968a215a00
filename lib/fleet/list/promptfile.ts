import { resolve } from "node:path";
import { decodeUtf8 } from "../../config/utf8.ts";
import { readRegularFile } from "../../files/read.ts";
import type { RowReading } from "./row.ts";

const largestPrompt = 1024 * 1024;

/** Reads the prompts of a list. Most tasks may have the same one. */
export function promptFileReader(directory: string): RowReading["prompt"] {
  const known = new Map<string, ReturnType<RowReading["prompt"]>>();
  return (file) => {
    const path = resolve(directory, file);
    const found = known.get(path) ?? promptOf(path);
    known.set(path, found);
    return found;
  };
}

function promptOf(path: string): ReturnType<RowReading["prompt"]> {
  const bytes = readRegularFile(path, largestPrompt + 1);
  if (bytes === undefined) return { problem: "no such file" };
  if ("problem" in bytes) return bytes;
  if (bytes.length > largestPrompt) return { problem: "it has more than 1 MiB" };
  const text = decodeUtf8(bytes);
  if (text === undefined) return { problem: "it is not UTF-8 text (iconv can convert it)" };
  return text.trim() === "" ? { problem: "it is empty" } : { text };
}
