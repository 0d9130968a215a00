import type { ModelEndpoint } from "./endpoint.ts";
import { includesImage, type ImagePart, type TextPart } from "./message.ts";
import type { ModelInfo, ModelRequest } from "./model.ts";

/** Replaces an image for a model that accepts none. */
export const omittedImage = "[image: this model accepts no images]";

type Part = TextPart | ImagePart;

/** Fields of a request as the SDK types them. Those that are undefined are left out of its JSON. */
export type BodyFields<Params> = { [Name in keyof Params]?: Params[Name] | undefined };

/** Plain text as a string, the form that every server accepts; with images, parts in the form of the wire. */
export function contentForm<Form>(
  parts: readonly Part[],
  images: boolean | undefined,
  partForm: (part: Part) => Form,
): string | Form[] {
  if (images === false || !includesImage(parts)) return textForm(parts, omittedImage);
  return parts.filter((part) => part.type === "image" || part.text !== "").map(partForm);
}

/** The texts as lines, with a note for each image. */
export function textForm(parts: readonly Part[], image: string): string {
  const texts: string[] = [];
  for (const part of parts) texts.push(part.type === "text" ? part.text : image);
  return texts.length === 1 ? (texts[0] ?? "") : texts.join("\n");
}

export function dataUrl({ mime, base64 }: ImagePart): string {
  return `data:${mime};base64,${base64}`;
}

/**
 * The limit of the reply, in tokens: the usual one, or what the cost limit and the context window allow, which changes
 * from request to request and so comes after the messages. Without a usual one, a model whose longest reply is not
 * known is sent no limit that it might refuse.
 */
export function outputLimit(
  { affordableOutput = Infinity, room }: ModelRequest,
  { maxOutput = 4096 }: ModelInfo,
  usual: number | undefined,
): { first: number | undefined; last: number | undefined } {
  const left = usual === undefined ? undefined : room?.();
  // A window that is full is larger than it is said to be, or the request is refused whatever its limit is.
  const fitting = left === undefined || left < leastRoom ? Infinity : left;
  const cap = Math.min(affordableOutput, fitting);
  return cap < (usual ?? maxOutput) ? { first: undefined, last: cap } : { first: usual, last: undefined };
}

const leastRoom = 1_024;

/** The key of the provider's prompt cache; undefined for one that does not take it. */
export function cacheKeyFor(
  { cacheKey }: ModelRequest,
  { provider, info }: Pick<ModelEndpoint, "provider" | "info">,
): string | undefined {
  return provider.quirks?.cacheKey && !info.refuses?.includes("prompt_cache_key") ? cacheKey : undefined;
}

/** A tool's name in the characters that every provider accepts: the model may have invented it. */
export function wireName(tool: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(tool)) return tool;
  const name = tool.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);
  return name === "" ? "unknown" : name;
}
