import type { Turn } from "../engine/turn.ts";
import type { Allowance } from "./allowance.ts";

/** All that may differ between two turns of a conversation, and nothing that may change within one. */
export type Stance = Pick<Turn, "model" | "info" | "catalog" | "gate"> & { readonly allowance: Allowance };
