import { effects, type Effect } from "../claim.ts";
import type { CommandSurroundings } from "./paths.ts";

/** The worst that any command of a script does, as far as it was read. */
export type Judgement = {
  readonly around: CommandSurroundings;
  effect: Effect;
  reason?: string;
  outside?: string | undefined;
  /** The directories that commands may be in, where nothing confines them; undefined when that may be any. */
  places: readonly string[] | undefined;
  readonly aliases: Map<string, string>;
  /** How much may still be looked at, so that no script takes forever, and how deep scripts may hold scripts. */
  budget: number;
  depth: number;
  /** Judges text that is given to a shell. */
  readonly read: (text: string, input?: string) => void;
};

export function worsen(judgement: Judgement, effect: Effect, reason?: string): void {
  if (effects.indexOf(effect) > effects.indexOf(judgement.effect)) judgement.effect = effect;
  if (reason !== undefined) judgement.reason ??= reason;
}

/** Goes one level deeper where that is not too deep, and never without end. */
export function deeper(judgement: Judgement, look: () => void): void {
  if (judgement.budget-- <= 0 || judgement.depth === 0) return worsen(judgement, "write");
  judgement.depth--;
  look();
  judgement.depth++;
}
