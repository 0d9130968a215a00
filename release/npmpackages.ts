import { readFileSync } from "node:fs";
import { version } from "../package.json";
import type { ArchiveFile } from "./tar.ts";
import type { Target } from "./targets.ts";

export type NpmPackage = { name: string; manifest: Readonly<Record<string, unknown>>; files: readonly ArchiveFile[] };

const wrapper = "koda-cli";
const about = "A coding agent for shells, scripts and CI";

/**
 * The packages for npm: one for each platform, of which npm installs the one that fits, and `koda-cli`, which starts
 * it. None of them has an install script. Those of the platforms come first: they have to be there when the other one
 * is published.
 */
export function npmPackages(platforms: ReadonlyMap<Target, readonly ArchiveFile[]>): NpmPackage[] {
  const packages = [...platforms].map(([target, files]) => platformPackage(target, files));
  const optionalDependencies = Object.fromEntries(packages.map(({ name }) => [name, version]));
  const manifest = {
    ...common(wrapper, about),
    bin: { koda: "koda.cjs" },
    engines: { node: ">=18" },
    optionalDependencies,
  };
  const files = [
    { path: "koda.cjs", content: readFileSync("npm/koda.cjs"), isProgram: true },
    { path: "README.md", content: readFileSync("npm/README.md") },
    { path: "LICENSE", content: readFileSync("LICENSE") },
  ];
  return [...packages, { name: wrapper, manifest, files }];
}

function platformPackage(target: Target, files: readonly ArchiveFile[]): NpmPackage {
  const [os = "", cpu = "", libc = "glibc"] = target.split("-");
  const name = `${wrapper}-${target}`;
  const platform = { os: [os], cpu: [cpu], libc: [libc], preferUnplugged: true };
  return { name, manifest: { ...common(name, `${about}: the program for ${target}`), ...platform }, files };
}

function common(name: string, description: string) {
  return { name, version, description, license: "MIT" };
}

/** The files of a package; npm's archives have them in a directory `package`. */
export function filesOfPackage({ manifest, files }: NpmPackage): ArchiveFile[] {
  return [{ path: "package.json", content: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) }, ...files];
}
