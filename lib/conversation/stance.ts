import type { Turn } from "../engine/turn.ts";
import type { Mode } from "../config/config.ts";
import type { Gate } from "../trust/gate.ts";
import type { Allowance } from "./allowance.ts";
import type { Connection } from "./connection.ts";

/** All that may differ between two turns of a conversation, and nothing that may change within one. */
export type Stance = Pick<Turn, "model" | "info" | "catalog"> & {
  readonly connected: Connection;
  readonly allowance: Allowance;
  readonly gateFor: (mode: Mode) => Gate;
};

/** The part that another model changes. */
export type ModelStance = Pick<Stance, "model" | "info" | "connected" | "catalog">;
