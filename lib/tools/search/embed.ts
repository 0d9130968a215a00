import type { BunPlugin } from "bun";

/**
 * For the build only: makes ripgrep part of the binary. Throws when its package for the target (`linux-x64`,
 * `linux-arm64`; this machine's when absent) is not installed.
 */
export function embedSearch(target = `${process.platform}-${process.arch}`): BunPlugin {
  return {
    name: "embed-search",
    setup: (build) =>
      void build.onLoad({ filter: /\/lib\/tools\/search\/built\.ts$/ }, () => ({ contents: built(target) })),
  };
}

/** The program is linked statically, so it serves systems with musl too. */
function built(target: string): string {
  const program = Bun.resolveSync(`@vscode/ripgrep-${target.replace(/-musl$/, "")}/bin/rg`, import.meta.dir);
  return `import file from ${JSON.stringify(program)} with { type: "file" };\nexport const ripgrepFile = file;`;
}
