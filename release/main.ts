/**
 * `npm run release [-- --target linux-x64]… [--format tar.gz]… [--base URL] [--key FILE --public-key FILE]`:
 * everything that a release consists of, in dist/release. The same commit makes the same bytes in any directory.
 */
import { devDependencies, version } from "../package.json";
import { buildLock } from "./buildlock.ts";
import { currentCommit } from "./commit.ts";
import { compress, type Format } from "./compress.ts";
import { deb } from "./deb.ts";
import { installScript } from "./installscript.ts";
import { filesOfPackage, npmPackages } from "./npmpackages.ts";
import { releaseOptions } from "./options.ts";
import { OutputDirectory } from "./outputdirectory.ts";
import { sbom } from "./sbom.ts";
import { sign } from "./sign.ts";
import { type ArchiveFile, tar } from "./tar.ts";
import { type TargetFiles, targetFiles } from "./targetfiles.ts";
import type { Target } from "./targets.ts";

const options = releaseOptions();
if (Bun.version !== devDependencies.bun)
  throw new Error(`This is Bun ${Bun.version}, and package.json has ${devDependencies.bun}: run npm ci`);
const commit = currentCommit();
const output = new OutputDirectory("dist/release");

const built: TargetFiles[] = [];
for (const target of options.targets) built.push(await targetFiles(target, commit));
for (const { target, files } of built) {
  await writeArchive(`koda-${version}-${target}`, files, { formats: options.archives, target });
  if (options.hasDeb) await writeDeb(target, files);
}
if (options.hasNpm) await writeNpmPackages();
const maps = built.flatMap((each) => each.maps.map((map) => ({ ...map, path: `${each.target}/${map.path}` })));
await writeArchive(`koda-${version}-sourcemaps`, maps, { formats: options.archives.slice(0, 1) });
output.write("install.sh", installScript({ version, ...options }));
output.write(`koda-${version}.cdx.json`, sbom(built, commit));
output.write("build.lock", buildLock(commit, built, output.hashes));
const sums = output.write("SHA256SUMS", output.sums());
if (options.key !== undefined) await sign(sums, options.key);

/** Archives with one directory, in which the files lie. */
async function writeArchive(
  name: string,
  files: readonly ArchiveFile[],
  { formats, target }: { formats: readonly Format[]; target?: Target },
): Promise<void> {
  const bytes = tar(below(name, files), commit.seconds);
  const packed = await Promise.all(formats.map((format) => compress(bytes, format, target)));
  for (const [at, content] of packed.entries()) output.write(`${name}.${formats[at]}`, content);
}

async function writeDeb(target: Target, files: readonly ArchiveFile[]): Promise<void> {
  const built = await deb({ target, version, files, seconds: commit.seconds });
  if (built !== undefined) output.write(built.name, built.content);
}

async function writeNpmPackages(): Promise<void> {
  for (const each of npmPackages(new Map(built.map(({ target, files }) => [target, files])))) {
    const bytes = tar(below("package", filesOfPackage(each)), commit.seconds);
    output.write(`${each.name}-${version}.tgz`, await compress(bytes, "tar.gz"));
  }
}

function below(directory: string, files: readonly ArchiveFile[]): ArchiveFile[] {
  return files.map((file) => ({ ...file, path: `${directory}/${file.path}` }));
}
