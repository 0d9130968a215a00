import type { BunPlugin } from "bun";

/** For the build only: makes ripgrep, the program at this path, part of the binary. */
export function embedSearch(program: string): BunPlugin {
  return {
    name: "embed-search",
    setup(build) {
      build.onLoad({ filter: /\/lib\/tools\/search\/built\.ts$/ }, () => ({ contents: built }));
      build.onResolve({ filter: /^ripgrep$/ }, () => ({ path: program }));
    },
  };
}

/** Names no path: the binary's source maps hold this text, and they are the same wherever it is built. */
const built = `import file from "ripgrep" with { type: "file" };\nexport const ripgrepFile = file;`;
