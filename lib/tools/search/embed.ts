import type { BunPlugin } from "bun";

/** The thread of our own engine: an entry point of the binary beside `cmd/main.ts`. */
export const searchWorker = "lib/tools/search/worker.ts";

/**
 * For the build only: makes ripgrep part of the binary, when its package for the target (`linux-x64`, `darwin-arm64`;
 * this machine's when absent) is installed. Without it the binary searches with our own engine.
 */
export function embedSearch(target = `${process.platform}-${process.arch}`): BunPlugin {
  return {
    name: "embed-search",
    setup: (build) =>
      void build.onLoad({ filter: /\/lib\/tools\/search\/built\.ts$/ }, () => ({ contents: built(target) })),
  };
}

/** In the binary all entry points keep their place in the repository, and the chunks lie at its top. */
function built(target: string): string {
  const program = installedRipgrep(target);
  return [
    program === undefined
      ? "const file = undefined;"
      : `import file from ${JSON.stringify(program)} with { type: "file" };`,
    "export const ripgrepFile = file;",
    `export const searchWorkerUrl = new URL("./${searchWorker.replace(/\.ts$/, ".js")}", import.meta.url).href;`,
  ].join("\n");
}

/** The program is linked statically, so it serves systems with musl too. */
function installedRipgrep(target: string): string | undefined {
  try {
    return Bun.resolveSync(`@vscode/ripgrep-${target.replace(/-musl$/, "")}/bin/rg`, import.meta.dir);
  } catch {
    return undefined;
  }
}
