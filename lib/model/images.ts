import { formatPath } from "../config/keypath.ts";
import { KodaError } from "../errors.ts";
import { includesImage } from "./message.ts";
import type { Model, ModelEvent, ModelInfo, ModelRequest } from "./model.ts";

type FallbackOptions = { info: ModelInfo; onRefusal: (message: string) => void };

/**
 * A model that may not accept images. They are sent until the provider refuses one; from then on a text replaces each
 * image. The user's own images are never replaced: the refusal ends the run.
 */
export function withImageFallback(connect: (info: ModelInfo) => Model, { info, onRefusal }: FallbackOptions): Model {
  let model = connect(info);
  let isRefused = false;

  async function* attempt(request: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[], void> {
    try {
      return yield* model(request, signal);
    } catch (error) {
      if (!(error instanceof KodaError) || error.code !== "images") throw error;
      if (hasImages(request, "user")) throw withAdvice(error, info);
      isRefused = true;
      model = connect({ ...info, images: false });
      onRefusal(`${error.message}. A note replaces each image; ${hint(info, false)} does that from the start`);
    }
    yield* model(request, signal);
  }

  return (request, signal) =>
    isRefused || !hasImages(request, "tool", "user") ? model(request, signal) : attempt(request, signal);
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

function hasImages({ messages }: ModelRequest, ...roles: readonly ("user" | "tool")[]): boolean {
  for (const message of messages)
    if (message.role !== "assistant" && roles.includes(message.role) && includesImage(message.parts)) return true;
  return false;
}
