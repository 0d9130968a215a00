import { KodaError } from "../errors.ts";
import type { Model, ModelEvent, ModelInfo, ModelRequest } from "./model.ts";
import { sealedIn } from "./thought.ts";

type FallbackOptions = { info: ModelInfo; onRefusal: (message: string) => void };

/**
 * A model whose thoughts go back to it until its provider refuses them; from then on replies go back without. On the
 * wire `messages` it is not asked to think any more either, since a provider may require what it refuses.
 */
export function withThoughtFallback(connect: (info: ModelInfo) => Model, { info, onRefusal }: FallbackOptions): Model {
  let model = connect(info);
  let isRefused = false;

  async function* attempt(request: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[], void> {
    try {
      return yield* model(request, signal);
    } catch (error) {
      if (!namesThoughts(error) || (info.wire !== "messages" && !hasThoughts(request, info))) throw error;
      isRefused = true;
      model = connect({ ...info, thoughts: false });
      onRefusal(`${error.message}. From now on, replies go back without their thoughts`);
    }
    yield* model(request, signal);
  }

  return (request, signal) => (isRefused ? model(request, signal) : attempt(request, signal));
}

/** A refused temperature is another matter, although its reason may be that the model thinks. */
function namesThoughts(error: unknown): error is KodaError {
  if (!(error instanceof KodaError) || error.parameter === "temperature") return false;
  if (!["request", "unsupported_parameter"].includes(error.code)) return false;
  return /thought|thinking|reasoning(?![_.]effort)|encrypted content|signature|extra_content/i.test(error.message);
}

function hasThoughts({ messages }: ModelRequest, info: ModelInfo): boolean {
  return messages.some(
    (message) =>
      message.role === "assistant" &&
      message.parts.some((part) => part.type !== "text" && sealedIn(part.token, info) !== undefined),
  );
}
