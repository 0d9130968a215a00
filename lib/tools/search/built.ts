import { fileURLToPath } from "node:url";

/**
 * What the build makes part of the binary (see embed.ts, which replaces this file there), as it is found in a checkout.
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
