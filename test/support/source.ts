import { resolve } from "node:path";
import type { Place } from "./place.ts";

const main = resolve("cmd/main.ts");

/** Runs koda from its source, for commands whose tests need neither the built binary nor a terminal. */
export async function kodaFromSource(place: Place, args: readonly string[], env: Record<string, string> = {}) {
  const child = Bun.spawn([process.execPath, main, ...args], {
    cwd: place.project,
    env: { ...place.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exit] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, exit };
}
