import type { BunPlugin } from "bun";
import { compactCatalog } from "./compact.ts";

/** For the build only: makes the catalog's text part of the binary, and no code of the package. */
export function embedCatalog(): BunPlugin {
  return {
    name: "embed-catalog",
    setup: (build) =>
      void build.onLoad({ filter: /\/lib\/model\/catalog\/built\.ts$/ }, () => ({
        contents: `export const catalogTexts = ${JSON.stringify(compactCatalog())};`,
      })),
  };
}
