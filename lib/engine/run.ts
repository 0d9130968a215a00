import { counted } from "../counted.ts";
import { endEvent } from "./end.ts";
import { type Engine, type FailOn, news, type Start } from "./engine.ts";
import type { Event } from "./event.ts";
import { costOf, type Ledger } from "./ledger.ts";
import type { Outcome } from "./outcome.ts";
import { type Prompt, turn } from "./turn.ts";

/** What is known of a run before it begins. */
export type Opening = { start: Start; startedAt: number; resume: string | null };

/** One prompt, from the first event to the last. `end` comes exactly once and always last; nothing else yields it. */
export async function* run(
  prompt: Prompt,
  { engine, opening }: { engine: Engine; opening: Opening },
  signal: AbortSignal,
): AsyncGenerator<Event, void> {
  yield { type: "session.start", ...opening.start };
  yield* news(engine);
  const outcome = named(yield* turn(prompt, engine, signal), engine);
  const cost = costOf(engine.ledger, engine.info.price);
  yield endEvent(outcome, {
    session: engine.session.id,
    usage: { ...engine.ledger.usage, ...(cost !== undefined && { cost_usd: cost }) },
    tools: engine.ledger.calls,
    filesChanged: engine.changes.files,
    durationMs: performance.now() - opening.startedAt,
    resume: opening.resume,
  });
}

/** A run that went to its end fails all the same when it had what the user named with --fail-on. */
function named(outcome: Outcome, { failOn, ledger }: Engine): Outcome {
  if (outcome.status !== "done") return outcome;
  if (ledger.commands.refused > 0 && ledger.commands.begun === 0) return withoutCommands(outcome.text, ledger);
  const code = failOn.find((name) => happened(name, ledger) > 0);
  if (code === undefined) return outcome;
  const calls = counted(happened(code, ledger), `${code === "denied" ? "denied" : "failed"} tool call`);
  const message = `${calls}, and --fail-on ${code.replace("_", "-")} is set`;
  return { status: "failed", text: outcome.text, error: { code, message, retryable: false } };
}

/** An answer that was found although no command could run is not to be trusted like one. */
function withoutCommands(text: string, { commands }: Ledger): Outcome {
  const message = `The sandbox could be set up for none of ${counted(commands.refused, "command")}: koda doctor says more`;
  return { status: "failed", text, error: { code: "sandbox", message, retryable: false } };
}

function happened(name: FailOn, { calls }: Ledger): number {
  return name === "denied" ? calls.denied : calls.failed;
}
