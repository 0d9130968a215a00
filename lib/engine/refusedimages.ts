import { KodaError } from "../errors.ts";
import type { LoggedItem } from "../session/item.ts";
import { hasImage } from "../session/removedimages.ts";
import type { Turn } from "./turn.ts";

/**
 * Removes images after the provider refused one. When tools showed some in this turn, or when only earlier turns have
 * any, the request is worth another try. An image of the user's own ends the turn: it is not dropped in silence. Either
 * way the log says what was removed, so that the session can go on.
 */
export function removeRefusedImages({ session, events }: Turn, error: unknown): void {
  if (!(error instanceof KodaError) || error.code !== "invalid_image") throw error;
  const items = session.items();
  const begin = items.findLast(({ kind }) => kind === "turn_start")?.seq ?? 0;
  const shown = items.filter(hasImage);
  const inTurn = shown.filter(({ seq }) => seq > begin);
  if (shown.length === 0) throw error;

  const removal = removalOf(inTurn, begin);
  session.append({ kind: "images_removed", ...removal });
  const isOwn = removal.prompts && removal.from > 0;
  const which = removal.from > 0 ? "the images of this turn" : "all images of earlier turns";
  const when = isOwn ? "If the session goes on, the" : "The";
  const message = `${error.message}. ${when} text "Invalid image" replaces ${which}`;
  events.post({ type: "notice", level: "warn", code: error.code, message });
  if (isOwn) throw invalidImage(error);
}

/** The images of tools first, then those of the prompt, then those of earlier turns. */
function removalOf(inTurn: readonly LoggedItem[], begin: number): { from: number; prompts: boolean } {
  if (inTurn.some(({ kind }) => kind === "result")) return { from: begin, prompts: false };
  return { from: inTurn.length > 0 ? begin : 0, prompts: true };
}

function invalidImage(error: KodaError): KodaError {
  const { code, httpStatus } = error;
  return new KodaError(code, "Invalid image in your last message. Please remove it and try again.", {
    cause: error,
    ...(httpStatus !== undefined && { httpStatus }),
  });
}
