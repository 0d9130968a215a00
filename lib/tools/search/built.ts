import { fileURLToPath } from "node:url";

/**
 * The ripgrep that the build makes part of the binary (see embed.ts, which replaces this file there), as a checkout has
 * it. Undefined when there is none for this platform.
 */
export const ripgrepFile: string | undefined = installedRipgrep();

function installedRipgrep(): string | undefined {
  try {
    return fileURLToPath(import.meta.resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`));
  } catch {
    return undefined;
  }
}
