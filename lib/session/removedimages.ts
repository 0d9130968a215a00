import type { LoggedItem } from "./item.ts";

/** Replaces an image that the provider refused. */
const replacement = { type: "text", text: "Invalid image" } as const;

/** The log as the model sees it: without the images that a later item says were removed. */
export function withoutRemovedImages(items: readonly LoggedItem[]): readonly LoggedItem[] {
  const removals = items.filter((item) => item.kind === "images_removed");
  if (removals.length === 0) return items;
  return items.map((item) => {
    const isRemoved = removals.some(
      ({ seq, from, prompts }) => item.seq >= from && item.seq < seq && (prompts || item.kind === "result"),
    );
    return isRemoved && hasImage(item)
      ? { ...item, parts: item.parts.map((part) => (part.type === "image" ? replacement : part)) }
      : item;
  });
}

/** True for a prompt or a result with an image in it. */
export function hasImage(item: LoggedItem): item is LoggedItem & { kind: "user" | "result" } {
  return (item.kind === "user" || item.kind === "result") && item.parts.some(({ type }) => type === "image");
}
