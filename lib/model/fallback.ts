import { KodaError } from "../errors.ts";
import { imageFallback } from "./images.ts";
import type { Model, ModelEvent, ModelFacts, ModelInfo, ModelRequest, ModelSettings } from "./model.ts";
import { parameterFallback } from "./refusedparameters.ts";
import { thoughtFallback } from "./refusedthoughts.ts";

/** A request that the provider refused, and what was known of the model then. */
export type RefusedRequest = { error: KodaError; request: ModelRequest; info: ModelInfo; settings: ModelSettings };

/** The facts that a refusal tells, and the notice that says how the run goes on. */
export type Fallback = { facts: Partial<ModelFacts>; code: string; message: string };

type FallbackOptions = {
  info: ModelInfo;
  settings: ModelSettings;
  onFallback: (fallback: Fallback) => void;
};

/**
 * A model of which not everything is known. It is sent what its provider may refuse, until that happens: then the
 * request is sent again without, and so are all later ones. A refusal comes before the reply (reply.ts).
 */
export function withFallbacks(
  connect: (info: ModelInfo) => Model,
  { info, settings, onFallback }: FallbackOptions,
): Model {
  let known = info;
  let model = connect(info);

  return async function* (request: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[], void> {
    while (true) {
      try {
        return yield* model(request, signal);
      } catch (error) {
        if (!(error instanceof KodaError)) throw error;
        const fallback = fallbackAfter({ error, request, info: known, settings });
        if (fallback === undefined) throw error;
        known = { ...known, ...fallback.facts };
        model = connect(known);
        onFallback(fallback);
      }
    }
  };
}

/** A parameter that is named counts before what the rest of the message may be about. */
function fallbackAfter(refused: RefusedRequest): Fallback | undefined {
  return parameterFallback(refused) ?? thoughtFallback(refused) ?? imageFallback(refused);
}
