import type { ModelInfo } from "./model.ts";

/**
 * A part of a reply that its provider wants back as it was: in the same field, and only by the same model, since no
 * other can read it. `value` is what the field held, or nothing where the part's own text is that.
 */
type Sealed = { field: SealedField; value: string };

const fields = [
  // Responses.
  "encrypted_content",
  // Messages.
  "signature",
  "redacted_thinking",
  // Chat Completions: fields of a message, a part of its content, and a field of a call or a message.
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "thinking",
  "think_tag",
  "extra_content",
] as const;
export type SealedField = (typeof fields)[number];

/** The token of a part; it names the model, since a session may continue with another one. */
export function tokenOf({ field, value }: Sealed, info: ModelInfo): string {
  return `${owner(info)} ${field} ${value}`;
}

/** The part as it goes back; undefined for one of another model, and when the provider has refused such parts. */
export function sealedIn(token: string | undefined, info: ModelInfo): Sealed | undefined {
  if (token === undefined || info.thoughts === false) return undefined;
  const prefix = `${owner(info)} `;
  if (!token.startsWith(prefix)) return undefined;
  const end = token.indexOf(" ", prefix.length);
  const field = fields.find((known) => known === token.slice(prefix.length, end));
  return field && { field, value: token.slice(end + 1) };
}

function owner({ provider, name }: ModelInfo): string {
  return `${provider}/${name}`;
}
