import type { BunPlugin } from "bun";

/** The supervisor's thread: an entry point of the binary beside `cmd/main.ts`. */
export const supervisorWorker = "lib/sandbox/supervisor/worker.ts";

/** For the build only: names the thread's program by its place in the binary. */
export function embedSupervisor(): BunPlugin {
  return {
    name: "embed-supervisor",
    setup: (build) =>
      void build.onLoad({ filter: /\/lib\/sandbox\/supervisor\/built\.ts$/ }, () => ({ contents: built })),
  };
}

/** In the binary all entry points keep their place in the repository, and the chunks lie at its top. */
const built = `export const workerUrl = new URL("./${supervisorWorker.replace(/\.ts$/, ".js")}", import.meta.url).href;`;
