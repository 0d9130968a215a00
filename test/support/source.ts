import { resolve } from "node:path";
import type { Place } from "./place.ts";
import { runIn } from "./run.ts";

const main = resolve("cmd/main.ts");

/** Runs koda from its source, for commands whose tests need neither the built binary nor a terminal. */
export async function kodaFromSource(place: Place, args: readonly string[], env: Record<string, string> = {}) {
  const { stdout, stderr, exit } = await runIn(place, [process.execPath, main, ...args], { env });
  return { stdout, stderr, exit };
}
