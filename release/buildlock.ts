import { version } from "../package.json";
import type { Commit } from "./commit.ts";
import { lockedPackage } from "./lockfile.ts";
import { bunOf, ripgrepOf } from "./programs.ts";
import type { Target } from "./targets.ts";

/** All that decides the bytes of a release, and the SHA-256 of those that came out. */
export function buildLock(
  commit: Commit,
  binaries: readonly { target: Target; sha256: string }[],
  files: Readonly<Record<string, string>>,
): string {
  const document = {
    version,
    commit: commit.hash,
    time: new Date(commit.seconds * 1000).toISOString(),
    bun: { version: Bun.version, revision: Bun.revision },
    xz: xzVersion(),
    binaries: Object.fromEntries(
      binaries.map(({ target, sha256 }) => [target, { sha256, packages: packagesOf(target) }]),
    ),
    files,
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** The packages with the programs in a binary, by their integrity in the lock file. */
function packagesOf(target: Target): Readonly<Record<string, string>> {
  const names = [bunOf(target), ripgrepOf(target)].map(({ packageName }) => packageName);
  return Object.fromEntries(
    names.map((name) => {
      const { version, integrity } = lockedPackage(`node_modules/${name}`);
      return [`${name}@${version}`, integrity];
    }),
  );
}

function xzVersion(): string | undefined {
  if (Bun.which("xz") === null) return undefined;
  return Bun.spawnSync(["xz", "--version"]).stdout.toString().split("\n")[0];
}
