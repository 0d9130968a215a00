import { lstatSync } from "node:fs";
import { join } from "node:path";
import { KodaError } from "../errors.ts";
import { type Cassette, parseCassette } from "./cassette.ts";
import tape from "./demo.jsonl" with { type: "text" };
import type { Provider } from "./providers.ts";

/**
 * The scripted model behind `-m demo`: whatever the prompt is, it writes a small failing project, runs its test, reads,
 * repairs, and runs it again. It needs no address, for it answers from the cassette below.
 */
export const demoProvider: Provider = { name: "demo", baseUrl: "http://demo.invalid/v1", keys: [], wire: "chat" };

export function demoCassette(): Cassette {
  return parseCassette(tape, "demo");
}

/** A script cannot look around, so what is already there is left alone by not starting at all. */
export function refuseOldDemo(cwd: string): void {
  const directory = join(cwd, "koda-demo");
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return;
  throw new KodaError(
    "usage",
    `The demo writes into a new directory, and "${directory}" exists already: move it away, or run in another directory`,
  );
}
