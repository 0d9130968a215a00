import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { binary } from "./koda.ts";
import type { Place } from "./place.ts";
import { until } from "./until.ts";

/** An interactive shell whose prompt is `ready> `, in a terminal of 200 columns, with koda on its PATH. */
export type Keyboard = AsyncDisposable & {
  /** Presses keys, and gives what the terminal shows from then on until that matches. */
  press(keys: string, pattern: RegExp): Promise<string>;
};

export async function openShell(
  place: Place,
  argv: readonly string[],
  env: Record<string, string> = {},
): Promise<Keyboard> {
  const decoder = new TextDecoder();
  let shown = "";
  let hasEnded = false;
  const child = Bun.spawn([...argv], {
    cwd: place.project,
    env: { ...withKoda(place), TERM: "dumb", ...env },
    terminal: {
      cols: 200,
      data(_, bytes) {
        shown += decoder.decode(bytes, { stream: true });
      },
      exit() {
        hasEnded = true;
      },
    },
  });

  async function seen(pattern: RegExp): Promise<string> {
    await until(
      () => pattern.test(shown) || hasEnded,
      () => `${pattern} on the terminal, but ${JSON.stringify(shown)}`,
    );
    if (!pattern.test(shown)) throw new Error(`${argv[0]} ended without showing ${pattern}: ${shown}`);
    return shown;
  }

  await seen(/ready> /);
  return {
    async press(keys, pattern) {
      shown = "";
      child.terminal?.write(keys);
      return await seen(pattern);
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      child.terminal?.close();
    },
  };
}

/** The environment in which `koda` is the built binary. */
export function withKoda({ env }: Place): Record<string, string> {
  if (!existsSync(binary)) throw new Error(`There is no "${binary}": build it first`);
  return { ...env, PATH: `${dirname(binary)}:${env.PATH}` };
}

/** Says that tests are skipped when the shell is not there. */
export function isMissing(shell: string): boolean {
  if (Bun.which(shell) !== null) return false;
  console.error(`skipped: tests with ${shell}: it is not installed`);
  return true;
}
