import { includesImage } from "../model/message.ts";
import type { ItemOf, LoggedItem } from "./item.ts";

/** Replaces an image that the provider refused. */
const replacement = { type: "text", text: "Invalid image" } as const;

/** The items without the images that the marker removes, and the marker. */
export function withoutImages(
  items: readonly LoggedItem[],
  marker: ItemOf<"images_removed"> & LoggedItem,
): LoggedItem[] {
  const shown = items.map((item) => {
    const isRemoved = hasImage(item) && item.seq >= marker.from && (marker.prompts || item.kind === "result");
    if (!isRemoved) return item;
    return { ...item, parts: item.parts.map((part) => (part.type === "image" ? replacement : part)) };
  });
  return [...shown, marker];
}

/** True for a prompt or a result with an image in it. */
export function hasImage(item: LoggedItem): item is LoggedItem & ItemOf<"user" | "result"> {
  return (item.kind === "user" || item.kind === "result") && includesImage(item.parts);
}
