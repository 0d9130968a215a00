import { fileURLToPath } from "node:url";

/**
 * Files that the build makes part of the binary (see embed.ts, which replaces this file there), as a checkout has them.
 * Undefined when there is no ripgrep for this platform: then our own engine searches.
 */
export const ripgrepFile: string | undefined = installedRipgrep();

export const searchWorkerUrl: string = new URL("./worker.ts", import.meta.url).href;

function installedRipgrep(): string | undefined {
  try {
    return fileURLToPath(import.meta.resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`));
  } catch {
    return undefined;
  }
}
