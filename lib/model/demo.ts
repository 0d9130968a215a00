import { lstatSync } from "node:fs";
import { join } from "node:path";
import { KodaError } from "../errors.ts";
import { parseCassette } from "./cassette.ts";
import tape from "./demo.jsonl" with { type: "text" };
import type { Fetch } from "./fetch.ts";
import { replayFrom } from "./replay.ts";

/** The only thing that the demo touches, in the project's root. */
export const demoDirectory = "koda-demo";

/**
 * The scripted model behind `-m demo`: it writes a small failing project, runs its test, reads, repairs and runs it
 * again, whatever the prompt was. It cannot look around, so what is already there is left alone by not starting at all.
 */
export function demoFetch(cwd: string): Fetch {
  const directory = join(cwd, demoDirectory);
  if (lstatSync(directory, { throwIfNoEntry: false }) !== undefined) {
    throw new KodaError(
      "usage",
      `The demo writes into a new directory, and "${directory}" exists already: move it away, or run in another directory`,
    );
  }
  return replayFrom(parseCassette(tape, "demo"), { cwd, loose: true });
}
