import type { ImagePart } from "./message.ts";

/** What stands for an image where the model takes none. */
export const omittedImage = "[image: this model takes none]";

export function dataUrl({ mime, base64 }: ImagePart): string {
  return `data:${mime};base64,${base64}`;
}

/** A tool's name as every wire takes it: a model may have invented one, and it goes back to the provider. */
export function wireName(tool: string): string {
  const name = tool.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);
  return name === "" ? "unknown" : name;
}
