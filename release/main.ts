/**
 * `npm run release [-- --target linux-x64]… [--format tar.gz]… [--base URL] [--key FILE --public-key FILE]`:
 * everything that a release consists of, in dist/release. The same commit makes the same bytes in any directory.
 */
import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { devDependencies, version } from "../package.json";
import { buildLock } from "./buildlock.ts";
import { currentCommit } from "./commit.ts";
import { compress, type Format, formats } from "./compress.ts";
import { deb } from "./deb.ts";
import { installScript } from "./installscript.ts";
import { filesOfPackage, npmPackages } from "./npmpackages.ts";
import { type Binary, sbom } from "./sbom.ts";
import { sign } from "./sign.ts";
import { type ArchiveFile, tar } from "./tar.ts";
import { targetFiles } from "./targetfiles.ts";
import { type Target, targetOf, targets } from "./targets.ts";

const { values: options } = parseArgs({
  options: {
    target: { type: "string", multiple: true, default: [...targets] },
    format: { type: "string", multiple: true, default: ["tar.xz", "tar.gz", "deb", "npm"] },
    base: { type: "string" },
    key: { type: "string" },
    "public-key": { type: "string" },
  },
});
const { key, base, "public-key": publicKey } = options;
const out = "dist/release";
if ((key === undefined) !== (publicKey === undefined)) throw new Error("--key and --public-key belong together");
const unknown = options.format.find((name) => ![...formats, "deb", "npm"].includes(name));
if (unknown !== undefined)
  throw new Error(`Unknown format "${unknown}": expected one of ${formats.join(", ")}, deb, npm`);
const archived = formats.filter((format) => options.format.includes(format));

if (Bun.version !== devDependencies.bun)
  throw new Error(`This is Bun ${Bun.version}, and package.json has ${devDependencies.bun}: run npm ci`);
const commit = currentCommit();
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const hashes: Record<string, string> = {};
const binaries: (Binary & { target: Target })[] = [];
const allMaps: ArchiveFile[] = [];
const platforms = new Map<Target, readonly ArchiveFile[]>();
for (const target of options.target.map(targetOf)) {
  const { files, binary, components, maps } = await targetFiles(target);
  await archive(`koda-${version}-${target}`, files, archived, target);
  if (options.format.includes("deb")) {
    const built = await deb({ target, version, files, seconds: commit.seconds });
    if (built !== undefined) write(built.name, built.content);
  }
  platforms.set(target, files);
  binaries.push({ target, sha256: sha256(binary), components });
  allMaps.push(...maps.map(({ path, content }) => ({ path: `${target}/${path}`, content })));
}
for (const each of options.format.includes("npm") ? npmPackages(platforms) : []) {
  const packed = filesOfPackage(each).map((file) => ({ ...file, path: `package/${file.path}` }));
  write(`${each.name}-${version}.tgz`, await compress(tar(packed, commit.seconds), "tar.gz"));
}
write("install.sh", installScript({ version, base, publicKey }));
await archive(`koda-${version}-sourcemaps`, allMaps, archived.slice(0, 1));
write(`koda-${version}.cdx.json`, sbom(binaries, commit));
write("build.lock", buildLock(commit, binaries, hashes));
const sums = Object.entries(hashes).map(([name, hash]) => `${hash}  ${name}\n`);
write("SHA256SUMS", sums.sort(byName).join(""));
if (options.key !== undefined) await sign(join(out, "SHA256SUMS"), options.key);

/** An archive with one directory, in which the files lie. */
async function archive(name: string, files: readonly ArchiveFile[], formats: readonly Format[], target?: Target) {
  const inDirectory = files.map((file) => ({ ...file, path: `${name}/${file.path}` }));
  const bytes = tar(inDirectory, commit.seconds);
  await Promise.all(formats.map(async (format) => write(`${name}.${format}`, await compress(bytes, format, target))));
}

function write(name: string, content: string | Uint8Array): void {
  writeFileSync(join(out, name), content);
  hashes[name] = sha256(content);
  process.stderr.write(`${name} ${(content.length / 1e6).toFixed(1)} MB\n`);
}

function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

function byName(a: string, b: string): number {
  return a.slice(66) < b.slice(66) ? -1 : 1;
}
