import type { KodaError } from "../errors.ts";
import type { Fallback, RefusedRequest } from "./fallback.ts";
import type { ModelInfo, ModelRequest } from "./model.ts";
import { sealedIn } from "./thought.ts";

/**
 * For thoughts that went back: later replies go back without them. On the wire `messages` the model is also no
 * longer asked to think, since a provider may require what it refuses.
 */
export function thoughtFallback({ error, request, info }: RefusedRequest): Fallback | undefined {
  const isPossible = info.thoughts !== false && (info.wire === "messages" || hasThoughts(request, info));
  if (!isPossible || !namesThoughts(error)) return undefined;
  const message = `${error.message}. From now on, replies go back without their thoughts`;
  return { facts: { thoughts: false }, code: "thoughts", message };
}

/**
 * A refused temperature is another matter, although its reason may be that the model thinks; and so is a thought that
 * the provider misses.
 */
function namesThoughts({ code, message, parameter }: KodaError): boolean {
  if (parameter === "temperature" || (code !== "request" && code !== "unsupported_parameter")) return false;
  if (/must be passed back|is missing/.test(message)) return false;
  return /thought|thinking|reasoning(?![_.]effort)|encrypted[ _]content|signature|extra_content/i.test(message);
}

function hasThoughts({ messages }: ModelRequest, info: ModelInfo): boolean {
  return messages.some(
    (message) =>
      message.role === "assistant" &&
      message.parts.some((part) => part.type !== "text" && sealedIn(part.token, info) !== undefined),
  );
}
