import { closeSync } from "node:fs";
import { isGroupAlive, waitUntilGone } from "../system/kill.ts";
import { Complaints } from "../system/complaints.ts";
import { closePipe } from "../system/pipe.ts";
import { socketPair } from "../system/descriptors.ts";
import { failedStep } from "./assembly/failure.ts";
import type { Command, Confined } from "./backend.ts";
import { look } from "./layout/host.ts";
import { whyStepFailed } from "./tiers/failures.ts";
import { Unavailable } from "./tiers/unavailable.ts";

/** Does nothing, and is on every system in one of these places. */
const nothing = look("/bin/true") === undefined ? (["/bin/sh", "-c", ":"] as const) : (["/bin/true"] as const);

const lastMomentMs = 1_000;

/**
 * Runs a command in a tier: only that shows that it works. `prepare` is the tier's own way to confine a command; this
 * one has no supervisor, since it connects to nothing.
 */
export async function probe(prepare: (command: Command, supervisor: number) => Confined, cwd: string): Promise<void> {
  const pair = socketPair();
  if (pair === undefined) throw new Unavailable("no socket could be made");
  using taken = new DisposableStack();
  taken.defer(() => [pair.here, pair.there].forEach((descriptor) => closeSync(descriptor)));
  const confined = prepare({ argv: nothing, cwd, env: {} }, pair.there);
  taken.defer(() => confined.release());
  taken.defer(() => closePipe(confined.status));
  await runToEnd(confined);
}

/** Runs a command of koda's own, or throws what its failure says about this machine. */
export async function runToEnd({ argv, cwd, env, descriptors }: Command & Pick<Confined, "descriptors">) {
  using complaints = new Complaints();
  const stdio = ["ignore", "ignore", complaints.stderr, ...descriptors] as const;
  const child = Bun.spawn([...argv], { cwd, env, detached: true, stdio: [...stdio] });
  const exit = await child.exited;
  // A tier's own helpers may end a moment after it.
  await waitUntilGone(() => (isGroupAlive(child.pid) ? [-child.pid] : []), lastMomentMs);
  if (exit === 0) return;
  // koda's programs say which step failed; others say something else.
  const said = complaints.text;
  const failed = failedStep(said);
  throw failed ? whyStepFailed(failed) : new Unavailable(said.trim() || `a command in it ended with exit ${exit}`);
}
