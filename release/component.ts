/** Somebody else's work in the binary. */
export type Component = {
  name: string;
  version: string;
  /** An SPDX expression. */
  license: string;
  text: string;
  purl: string;
  /** Of the npm package, as the lock file has it; absent for what lies in another package. */
  integrity?: string;
};

/** A package of npm by its name in SBOMs, which names no host. */
export function npmPurl(name: string, version: string): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}
