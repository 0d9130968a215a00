import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Serve } from "./clients.ts";

/** Registries as package managers expect them, each with one version of the one package `koda-probe`. */
export const packageName = "koda-probe";
const version = "1.0.0";

type Files = Readonly<Record<string, string>>;
/** What is served below a path; each page may name the server that it comes from. */
type Pages = Readonly<Record<string, (origin: string) => string | Uint8Array>>;

export function npmRegistry(scratch: string): Serve {
  const manifest = { name: packageName, version, main: "index.js" };
  const tarball = archive(scratch, {
    "package/package.json": JSON.stringify(manifest),
    "package/index.js": 'module.exports = "from npm";\n',
  });
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  return serve({
    "/probe.tgz": () => tarball,
    [`/${packageName}`]: (origin) => {
      const dist = { tarball: `${origin}/probe.tgz`, integrity };
      return JSON.stringify({
        name: packageName,
        "dist-tags": { latest: version },
        versions: { [version]: { ...manifest, dist } },
      });
    },
  });
}

export function pythonIndex(scratch: string): Serve {
  const name = `koda_probe-${version}`;
  const wheel = `${name}-py3-none-any.whl`;
  const info = `${name}.dist-info`;
  const bytes = zip(scratch, {
    "koda_probe.py": 'said = "from pip"\n',
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${packageName}\nVersion: ${version}\n`,
    [`${info}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${info}/RECORD`]: "",
  });
  return serve({
    [`/simple/${packageName}/`]: () => `<!DOCTYPE html><a href="/${wheel}#sha256=${sha256(bytes)}">${wheel}</a>`,
    [`/${wheel}`]: () => bytes,
  });
}

export function cargoRegistry(scratch: string): Serve {
  const directory = `${packageName}-${version}`;
  const crate = archive(scratch, {
    [`${directory}/Cargo.toml`]: `[package]\nname = "${packageName}"\nversion = "${version}"\nedition = "2021"\n`,
    [`${directory}/src/lib.rs`]: "",
  });
  const entry = { name: packageName, vers: version, deps: [], cksum: sha256(crate), features: {}, yanked: false };
  return serve({
    "/config.json": (origin) => JSON.stringify({ dl: `${origin}/{crate}.crate` }),
    [`/ko/da/${packageName}`]: () => `${JSON.stringify(entry)}\n`,
    [`/${packageName}.crate`]: () => crate,
  });
}

export const goModule = "probe.example/koda";

export function goProxy(scratch: string): Serve {
  const directory = `${goModule}@v${version}`;
  const module = `module ${goModule}\n`;
  const bytes = zip(scratch, {
    [`${directory}/go.mod`]: module,
    [`${directory}/koda.go`]: 'package koda\n\nconst Said = "from go"\n',
  });
  const at = (extension: string) => `/${goModule}/@v/v${version}.${extension}`;
  return serve({
    [`/${goModule}/@v/list`]: () => `v${version}\n`,
    [at("info")]: () => JSON.stringify({ Version: `v${version}`, Time: "2024-01-01T00:00:00Z" }),
    [at("mod")]: () => module,
    [at("zip")]: () => bytes,
  });
}

function serve(pages: Pages): Serve {
  return (request) => {
    const { pathname, origin } = new URL(request.url);
    const page = pages[pathname];
    if (page === undefined) return new Response("not found\n", { status: 404 });
    const body = page(origin);
    const type = pathname.endsWith("/") ? "text/html" : "application/octet-stream";
    return new Response(typeof body === "string" ? body : Buffer.from(body), { headers: { "content-type": type } });
  };
}

/** A compressed tar file of these. */
function archive(scratch: string, files: Files): Buffer {
  write(scratch, files);
  work(scratch, ["tar", "-czf", "archive.tgz", ...Object.keys(files)]);
  return readFileSync(join(scratch, "archive.tgz"));
}

/** Of files alone: go takes no directories in it. */
function zip(scratch: string, files: Files): Buffer {
  write(scratch, files);
  const program = `
import sys, zipfile
with zipfile.ZipFile("archive.zip", "w") as archive:
  for name in sys.argv[1:]: archive.write(name)
`;
  work(scratch, ["python3", "-c", program, ...Object.keys(files)]);
  return readFileSync(join(scratch, "archive.zip"));
}

function write(scratch: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(scratch, path)), { recursive: true });
    writeFileSync(join(scratch, path), text);
  }
}

function work(cwd: string, argv: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...argv], { cwd, stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")} failed: ${stderr.toString()}`);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
