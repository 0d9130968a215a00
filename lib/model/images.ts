import { formatPath } from "../config/keypath.ts";
import { KodaError } from "../errors.ts";
import type { Model, ModelEvent, ModelInfo, ModelRequest } from "./model.ts";

type Trial = { info: ModelInfo; onRefusal: (message: string) => void };

/**
 * A model that is not known to take images. They are sent until the provider refuses them; from then on the model is
 * told in words where an image was. Images of the user's own are not replaced by words: the refusal is the answer.
 */
export function tryingImages(connect: (info: ModelInfo) => Model, { info, onRefusal }: Trial): Model {
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
      onRefusal(`${error.message}. The model is told so in their place; ${hint(info, false)} does that from the start`);
    }
    yield* model(request, signal);
  }

  return (request, signal) =>
    isRefused || !hasImages(request, "tool", "user") ? model(request, signal) : attempt(request, signal);
}

/** The user gave images to a model that is known to take none. */
export function imagesRefused(info: ModelInfo): KodaError {
  return new KodaError(
    "usage",
    `${info.provider}/${info.name} does not take images (-i): choose another model with -m. If it does take them, pass ${hint(info, true)}`,
  );
}

function withAdvice(error: KodaError, info: ModelInfo): KodaError {
  const { message, httpStatus } = error;
  return new KodaError(
    "images",
    `${message}. Choose another model with -m, or go on with words in place of the images: ${hint(info, false)}`,
    { cause: error, ...(httpStatus !== undefined && { httpStatus }) },
  );
}

function hint({ provider, name }: ModelInfo, images: boolean): string {
  return `--config '${formatPath(["providers", provider, "models", name, "images"])}=${images}'`;
}

function hasImages({ messages }: ModelRequest, ...roles: readonly ("user" | "tool")[]): boolean {
  return messages.some(
    (message) =>
      message.role !== "assistant" &&
      roles.includes(message.role) &&
      message.parts.some(({ type }) => type === "image"),
  );
}
