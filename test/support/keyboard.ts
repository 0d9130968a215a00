import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { binary } from "./koda.ts";
import type { Place } from "./place.ts";

/** An interactive shell whose prompt is `ready> `, in a terminal of 200 columns, with koda on its PATH. */
export type Keyboard = AsyncDisposable & {
  /** Presses keys, and gives what the terminal shows from then on until that matches. */
  press(keys: string, until: RegExp): Promise<string>;
};

export async function openShell(
  place: Place,
  argv: readonly string[],
  env: Record<string, string> = {},
): Promise<Keyboard> {
  const decoder = new TextDecoder();
  let shown = "";
  let hasEnded = false;
  let changed = Promise.withResolvers<void>();
  const child = Bun.spawn([...argv], {
    cwd: place.project,
    env: { ...withKoda(place), TERM: "dumb", ...env },
    terminal: {
      cols: 200,
      data(_, bytes) {
        shown += decoder.decode(bytes, { stream: true });
        changed.resolve();
        changed = Promise.withResolvers();
      },
      exit() {
        hasEnded = true;
        changed.resolve();
      },
    },
  });

  async function seen(until: RegExp): Promise<string> {
    while (!until.test(shown)) {
      if (hasEnded) throw new Error(`${argv[0]} ended without showing ${until}: ${shown}`);
      await changed.promise;
    }
    return shown;
  }

  await seen(/ready> /);
  return {
    async press(keys, until) {
      shown = "";
      child.terminal?.write(keys);
      return await seen(until);
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
