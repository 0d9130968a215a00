import { compress } from "./compress.ts";
import { type ArchiveFile, tar } from "./tar.ts";
import type { Target } from "./targets.ts";

/** Debian's names of processors. koda for musl is not for Debian. */
const architectures: Partial<Record<Target, string>> = { "linux-x64": "amd64", "linux-arm64": "arm64" };

const maintainer = "The authors of koda <koda@koda.invalid>";

type Deb = { target: Target; version: string; files: readonly ArchiveFile[]; seconds: number };

/** A package for Debian and Ubuntu, by its name; undefined for a target that they do not have. */
export async function deb({ target, version, files, seconds }: Deb) {
  const architecture = architectures[target];
  if (architecture === undefined) return undefined;
  const placed = await Promise.all([...files, changelog(version, seconds)].map(inDebian));
  const bytes = placed.reduce((sum, { content }) => sum + content.length, 0);
  const control = [
    "Package: koda",
    `Version: ${debianVersion(version)}`,
    `Architecture: ${architecture}`,
    "Section: devel",
    "Priority: optional",
    `Maintainer: ${maintainer}`,
    `Installed-Size: ${Math.ceil(bytes / 1024)}`,
    "Depends: libc6 (>= 2.17)",
    "Recommends: ca-certificates, git",
    "Description: coding agent for shells, scripts and CI",
    ' koda exec "prompt" works on a task until it is done, runs commands in a kernel',
    " sandbox, and exits with a code that scripts can trust.",
    "",
  ].join("\n");
  const parts = [
    { name: "debian-binary", content: Buffer.from("2.0\n") },
    { name: "control.tar.gz", content: await compress(tar([file("./control", control)], seconds), "tar.gz") },
    { name: "data.tar.xz", content: await compress(tar(placed, seconds), "tar.xz", target) },
  ];
  return { name: `koda_${debianVersion(version)}_${architecture}.deb`, content: archive(parts, seconds) };
}

function file(path: string, text: string): ArchiveFile {
  return { path, content: Buffer.from(text) };
}

/** A prerelease comes before its release: `1.0.0~rc.1`. */
function debianVersion(version: string): string {
  return version.replace("-", "~");
}

/** The file that each package has, in Debian's form. */
function changelog(version: string, seconds: number): ArchiveFile {
  const date = new Date(seconds * 1000).toUTCString().replace("GMT", "+0000");
  const text = `koda (${debianVersion(version)}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- ${maintainer}  ${date}\n`;
  return file("share/doc/koda/changelog", text);
}

/**
 * Debian's zsh looks for packages' functions elsewhere, each package says under which licence it is, and manual pages
 * are compressed.
 */
async function inDebian({ path, content, ...rest }: ArchiveFile): Promise<ArchiveFile> {
  const place = path
    .replace("share/zsh/site-functions/", "share/zsh/vendor-completions/")
    .replace("share/doc/koda/LICENSE", "share/doc/koda/copyright");
  if (!/^share\/man\/|\/changelog$/.test(place)) return { ...rest, path: `./usr/${place}`, content };
  return { ...rest, path: `./usr/${place}.gz`, content: await compress(content, "tar.gz") };
}

type Part = { name: string; content: Uint8Array };

/** The archive of `ar`: a header of 60 characters before each part, which begins at an even place. */
function archive(parts: readonly Part[], seconds: number): Uint8Array {
  const pieces = parts.flatMap(({ name, content }) => {
    const fields = [name.padEnd(16), String(seconds).padEnd(12), "0     ", "0     ", "100644  "];
    const header = `${fields.join("")}${String(content.length).padEnd(10)}\`\n`;
    return [Buffer.from(header), content, Buffer.alloc(content.length % 2, "\n")];
  });
  return Buffer.concat([Buffer.from("!<arch>\n"), ...pieces]);
}
