import { formatPath } from "../config/keypath.ts";
import { KodaError } from "../errors.ts";
import type { Fallback, RefusedRequest } from "./fallback.ts";
import { includesImage } from "./message.ts";
import type { ModelInfo, ModelRequest } from "./model.ts";

/**
 * For images of tools, when nothing says that the model accepts any: a text replaces each. The user's own images are
 * never replaced: the refusal ends the run.
 */
export function imageFallback({ error, request, info }: RefusedRequest): Fallback | undefined {
  if (error.code !== "images" || info.images !== undefined) return undefined;
  if (hasImages(request, "user")) throw withAdvice(error, info);
  if (!hasImages(request, "tool")) return undefined;
  const message = `${error.message}. A note replaces each image; ${hint(info, false)} does that from the start`;
  return { facts: { images: false }, code: "images", message };
}

/** The error for images (-i) to a model that is known not to accept any. */
export function imagesNotAccepted(info: ModelInfo): KodaError {
  return new KodaError(
    "usage",
    `${info.provider}/${info.name} does not accept images (-i): choose another model with -m. ` +
      `If it does accept them, pass ${hint(info, true)}`,
  );
}

function withAdvice(error: KodaError, info: ModelInfo): KodaError {
  const { message, httpStatus } = error;
  return new KodaError(
    "images",
    `${message}. Choose another model with -m, or send a note in place of each image: ${hint(info, false)}`,
    { cause: error, ...(httpStatus !== undefined && { httpStatus }) },
  );
}

function hint({ provider, name }: ModelInfo, images: boolean): string {
  return `--config '${formatPath(["providers", provider, "models", name, "images"])}=${images}'`;
}

function hasImages({ messages }: ModelRequest, role: "user" | "tool"): boolean {
  return messages.some((message) => message.role === role && includesImage(message.parts));
}
