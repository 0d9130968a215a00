import { lstatSync } from "node:fs";
import { join } from "node:path";
import { KodaError } from "../errors.ts";
import { type Cassette, parseCassette } from "./cassette.ts";
import tape from "./demo.jsonl" with { type: "text" };
import type { Provider } from "./providers.ts";

/**
 * The scripted model behind `-m demo`: whatever the prompt, it writes a small failing project, runs its test, fixes the
 * bug and runs the test again. Its replies come from a cassette, so the base URL is never used.
 */
export const demoProvider: Provider = { name: "demo", baseUrl: "http://demo.invalid/v1", keys: [], wire: "chat" };

export function demoCassette(): Cassette {
  return parseCassette(tape, "demo");
}

/** The script cannot check for existing files, so it does not start when its directory exists. */
export function assertNoDemoDirectory(cwd: string): void {
  const directory = join(cwd, "koda-demo");
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return;
  throw new KodaError(
    "usage",
    `Cannot run the demo: "${directory}" already exists. Remove it, or run the demo in another directory`,
  );
}
