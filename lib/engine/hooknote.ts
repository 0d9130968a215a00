import type { HookMoment } from "../config/config.ts";
import type { ItemOf } from "../session/item.ts";

/** The words of a hook for the model. */
export function hookNote(on: HookMoment, said: string): ItemOf<"note"> {
  return { kind: "note", text: `The user's hook (${on}) says:\n${said}` };
}
