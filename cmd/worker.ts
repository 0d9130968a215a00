import { againAt, type FleetEvent } from "../lib/fleet/events.ts";
import { OutputStream } from "../lib/sink/output.ts";
import { inline } from "../lib/sink/style.ts";
import { openBatchStore } from "./batchstore.ts";
import { workOnTasks } from "./fleetworker.ts";
import { messageLines, printNote } from "./note.ts";
import type { CommandOptions } from "./options.ts";
import type { Stopper } from "./signals.ts";

/** `koda worker`: carries out the tasks of any batch, until there is a reason to stop. */
export async function work(options: CommandOptions<"worker">, stopper: Stopper): Promise<number> {
  const { jobs = 1, labels, once, drainAfter: drainAfterMs, keep, publishCommand, noSandbox, json } = options;
  await using store = await openBatchStore(options, "worker");
  const stdout = new OutputStream(1, "stdout");
  const note = (event: FleetEvent) => {
    if (!json) return void printNote(...linesOf(event));
    // Without its reader a worker has no purpose.
    stdout.write(`${JSON.stringify(event)}\n`).catch((error: unknown) => stopper.controller.abort(error));
  };
  const flags = { jobs: once ? 1 : jobs, labels, once, drainAfterMs, keep, publishCommand, noSandbox };
  const { exit } = await workOnTasks({ ...flags, store, stopper, note });
  if (json) await stdout.flush();
  return exit;
}

/** Plain lines for people. */
function linesOf(event: FleetEvent): string[] {
  switch (event.type) {
    case "task.start":
      return [`start  ${nameOf(event)}${event.attempt > 1 ? ` (attempt ${event.attempt})` : ""}`];
    case "task.note":
      return [`note   ${nameOf(event)}: ${inline(event.message)}`];
    case "task.retry":
      return [`retry  ${nameOf(event)}: ${whyOf(event)} (${againAt(event)})`];
    case "task.returned":
      return [`return ${nameOf(event)}: ${whyOf(event)}`];
    case "task.superseded":
      return [`lost   ${nameOf(event)}: another worker has taken over the task, so this attempt does not count`];
    case "task.end":
      return [`${event.outcome.padEnd(6)} ${nameOf(event)}${event.outcome === "done" ? "" : `: ${whyOf(event)}`}`];
    case "worker.note":
      return messageLines(`koda: ${event.message}`);
    case "worker.stop":
      return messageLines(`koda: worker stopped: ${event.why}`);
    case "batch.start":
    case "batch.end":
      return [];
    default:
      return event satisfies never;
  }
}

function nameOf({ batch, key }: { batch: string; key: string }): string {
  return `${batch} ${key}`;
}

function whyOf({ exit, error }: { exit?: number; error?: { message: string } }): string {
  if (error !== undefined) return inline(error.message);
  return exit === undefined ? "it did not run" : `exit ${exit}`;
}
