import { afterGrace } from "../lib/async/aftergrace.ts";
import type { RunPatch } from "../lib/conversation/runpatch.ts";
import { exitOf, failedAfterwards, type Outcome } from "../lib/engine/outcome.ts";
import { exitByCode, KodaError, messageOf } from "../lib/errors.ts";
import { openOutputFile } from "./outputfile.ts";
import type { Conclude, OutputTarget } from "./deliver.ts";

/** A run that was stopped writes its patch all the same, but not to a pipe that is not read. */
const graceMs = 2_000;

/**
 * Writes the patch to the file of `--patch`, whatever the outcome of the turn; without a turn the old file is removed.
 * The path is resolved before the run starts.
 */
export function patchInto({ file, writable, signal }: OutputTarget, patch: RunPatch): Conclude {
  const output = openOutputFile(file, writable, { flag: "--patch", what: "patch" });
  return async (outcome, { session }) => {
    const { taken } = patch;
    try {
      if (taken instanceof KodaError) throw taken;
      if (taken !== undefined) await output.write(taken, afterGrace(signal, graceMs));
      // A refused command line changes nothing.
      else if (session !== null || exitOf(outcome) !== exitByCode.usage) await output.remove();
      return outcome;
    } catch (error) {
      await output.remove().catch(() => undefined);
      return withFailure(outcome, error);
    }
  };
}

/** An earlier failure is kept, and says that there is no patch either. */
function withFailure(outcome: Outcome, error: unknown): Outcome {
  if (outcome.status === "done") return failedAfterwards(outcome, error);
  return { ...outcome, error: { ...outcome.error, message: `${outcome.error.message}. ${messageOf(error)}` } };
}
