import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { filesOfPackage, type NpmPackage } from "../../release/npmpackages.ts";
import { makePlace } from "./place.ts";

/** A registry with these packages and no others. */
export async function startRegistry(packages: readonly NpmPackage[]) {
  const archives = new Map<string, Uint8Array>();
  for (const each of packages) archives.set(each.name, await pack(each));
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request): Response {
      const [, name = "", file] = new URL(request.url).pathname.split("/");
      const [found, archive] = [packages.find((each) => each.name === name), archives.get(name)];
      if (found === undefined || archive === undefined) return Response.json({ error: "not found" }, { status: 404 });
      if (file !== undefined) return new Response(archive);
      return Response.json(documentOf(found, archive, `${new URL(request.url).origin}/${name}/${name}.tgz`));
    },
  });
  return {
    url: server.url.href,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

function documentOf({ name, manifest }: NpmPackage, archive: Uint8Array, tarball: string) {
  const version = String(manifest.version);
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  const shasum = createHash("sha1").update(archive).digest("hex");
  return {
    name,
    "dist-tags": { latest: version },
    // Some managers do not take what is only days old.
    time: { [version]: "2026-01-01T00:00:00.000Z" },
    versions: { [version]: { ...manifest, dist: { tarball, integrity, shasum } } },
  };
}

async function pack(each: NpmPackage): Promise<Uint8Array> {
  await using place = makePlace();
  writePackage(each, join(place.project, "package"));
  const { stdout } = Bun.spawnSync(["tar", "-C", place.project, "-cz", "package"], { stdout: "pipe" });
  return new Uint8Array(stdout);
}

/** A package as it lies on the disk. */
export function writePackage(each: NpmPackage, directory: string): void {
  for (const { path, content, isProgram } of filesOfPackage(each)) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode: isProgram === true ? 0o755 : 0o644 });
  }
}
