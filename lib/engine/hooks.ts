import { afterGrace } from "../async/aftergrace.ts";
import type { HookMoment } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import type { Changes } from "./changes.ts";
import type { Event } from "./event.ts";
import { guarded } from "./guard.ts";
import type { Failure, Outcome } from "./outcome.ts";
import type { Turn } from "./turn.ts";

/** The occasion of a hook, with the fields that its input has for it. */
export type HookOccasion =
  | { on: "session.start"; source: "startup" | "resume" | "fork" | "clear" }
  /** `turn` where it has not begun. */
  | { on: "prompt"; prompt: string; turn?: number }
  | { on: "tool.before"; tool: string; call: string; input: unknown; writes: readonly string[] | undefined }
  | {
      on: "tool.after";
      tool: string;
      call: string;
      input: unknown;
      writes: readonly string[] | undefined;
      result: { ok: boolean; text: string; exit_code?: number };
    }
  | { on: "stop"; last_message: string }
  | { on: "turn.end"; input: string; last_message: string; reason: string; error?: Pick<Failure, "code" | "message"> }
  | { on: "session.end"; status: Outcome["status"]; last_message: string };

/** The answer of all hooks of an occasion together: a denial of any of them wins. */
export type HookVerdict = {
  /** `rule` names the hook that denied, for `tool.end`; `reason` is for the model. */
  denied?: { rule: string; reason: string };
  /** The arguments of a call, as hooks have rewritten them. */
  rewritten?: { input: unknown };
  /** For the model, with the next request. */
  context?: string;
};

/** The things that hooks need of a turn. */
export type HookTurn = Pick<Turn, "session" | "events" | "contextOf" | "waits" | "watchKey">;

/** The user's hooks, as far as the engine knows them. */
export type Hooks = {
  /** False when none would run. */
  has(on: HookMoment, tool?: string): boolean;
  /** Runs the hooks of an occasion, one after the other. */
  run(occasion: HookOccasion, turn: HookTurn, signal: AbortSignal): Promise<HookVerdict>;
  /** The verdict when they cannot run at all. */
  fail(occasion: HookOccasion, turn: HookTurn, problem: string): HookVerdict;
};

type HookedTurn = HookTurn &
  Pick<Turn, "repositories"> & {
    hooks?: Hooks | undefined;
    changes: Pick<Changes, "watch">;
    progress: Pick<Turn["progress"], "work">;
  };

/** Runs the hooks of an occasion that is no call, guarded like a command: they may write. */
export async function* runHooks(
  turn: HookedTurn,
  occasion: HookOccasion,
  signal: AbortSignal,
): AsyncGenerator<Event, HookVerdict> {
  if (turn.hooks?.has(occasion.on) !== true) return {};
  const work = hooksBeside(turn, occasion, signal);
  turn.progress.work = Promise.allSettled([work]);
  return yield* turn.events.until(work);
}

/** The same, beside whoever yields the events. */
export async function hooksBeside(
  turn: Omit<HookedTurn, "progress">,
  occasion: HookOccasion,
  signal: AbortSignal,
): Promise<HookVerdict> {
  const { hooks } = turn;
  if (hooks === undefined) return {};
  try {
    return await guarded(turn, () => hooks.run(occasion, turn, signal), signal);
  } catch (error) {
    // Another run has commands in the project.
    if (!(error instanceof KodaError) || error.code !== "busy") throw error;
    return hooks.fail(occasion, turn, error.message);
  }
}

/** The time that hooks on an end have when everything has been stopped. */
const graceMs = 2_000;

/** The hooks on the end of a turn or session. They change nothing about it, however they end. */
export async function* runEndHooks(
  turn: HookedTurn,
  occasion: HookOccasion,
  stop: AbortSignal,
): AsyncGenerator<Event, void> {
  try {
    yield* runHooks(turn, occasion, stop.aborted ? afterGrace(stop, graceMs) : stop);
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    const message = `Not every hook on ${occasion.on} ran to its end: ${error.message}`;
    yield { type: "notice", level: "warn", code: "hook", message };
  }
  yield* turn.events.drain();
}
