import { closeSync } from "node:fs";
import { isGone, isGroupAlive } from "../shell/kill.ts";
import { closePipe } from "../shell/pipe.ts";
import { type FailedStep, failedStep } from "./assembly/failure.ts";
import type { Command, Confined } from "./backend.ts";
import { socketPair } from "./descriptors.ts";
import { look } from "./layout/host.ts";
import { Unavailable } from "./tiers/unavailable.ts";

/** Does nothing, and is on every system in one of these places. */
const nothing = look("/bin/true") === undefined ? (["/bin/sh", "-c", ":"] as const) : (["/bin/true"] as const);

const lastMomentMs = 1_000;

/**
 * Whether a tier works is seen by running a command in it, never by looking for a file. `prepare` is the tier's own
 * way to confine a command; nobody supervises this one, since it connects to nothing.
 */
export async function probe(prepare: (command: Command, supervisor: number) => Confined, cwd: string): Promise<void> {
  const pair = socketPair();
  if (pair === undefined) throw new Unavailable("no socket could be made");
  try {
    const confined = prepare({ argv: nothing, cwd, env: {} }, pair.there);
    await runToItsEnd(confined);
  } finally {
    closeSync(pair.here);
    closeSync(pair.there);
  }
}

async function runToItsEnd({ argv, cwd, env, descriptors, status, release }: Confined): Promise<void> {
  try {
    const child = Bun.spawn([...argv], {
      cwd,
      env,
      detached: true,
      stdio: ["ignore", "ignore", "pipe", ...descriptors],
    });
    const [said, exit] = await Promise.all([child.stderr.text(), child.exited]);
    // A tier's own helpers may end a moment after it.
    await isGone(() => (isGroupAlive(child.pid) ? [-child.pid] : []), lastMomentMs);
    if (exit === 0) return;
    throw new ProbeFailure(said.trim(), exit);
  } finally {
    closePipe(status);
    release();
  }
}

/** The tier's own programs say which step failed; others say something else. */
export class ProbeFailure extends Error {
  override readonly name = "ProbeFailure";
  readonly step: FailedStep | undefined;

  constructor(said: string, exit: number) {
    super(said === "" ? `a command in it ended with exit ${exit}` : said);
    this.step = failedStep(said);
  }
}
