import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { sha256 } from "../../release/sha256.ts";
import { makePlace, type Place } from "./place.ts";
import { type Ran, runIn } from "./run.ts";

const version = "9.9.9";
export const isInstallable = ["x64", "arm64"].includes(process.arch);
export const archive = `koda-${version}-linux-${process.arch}`;

type ReleaseOptions = {
  program?: string;
  /** Changes the files before they are served. */
  change?: (files: Map<string, Uint8Array | string>) => void;
};

/** A release of a koda that only says its version, on a server of this test's own. */
export async function serveRelease({ program = `echo ${version}`, change }: ReleaseOptions = {}) {
  const place = makePlace();
  const root = join(place.project, archive);
  write(join(root, "bin/koda"), `#!/bin/sh\n${program}\n`);
  chmodSync(join(root, "bin/koda"), 0o755);
  write(join(root, "share/man/man1/koda.1"), ".TH KODA 1\n");
  const files = new Map<string, Uint8Array | string>();
  for (const [format, flag] of [
    ["tar.xz", "-cJf"],
    ["tar.gz", "-czf"],
  ] as const) {
    const file = `${root}.${format}`;
    Bun.spawnSync(["tar", "-C", place.project, flag, file, archive]);
    files.set(`${archive}.${format}`, await Bun.file(file).bytes());
  }
  files.set("SHA256SUMS", [...files].map(([name, bytes]) => `${sha256(bytes)}  ${name}\n`).join(""));
  change?.(files);
  const asked: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ url }) {
      const name = new URL(url).pathname.replace(`/v${version}/`, "");
      asked.push(name);
      const content = files.get(name);
      return content === undefined ? new Response("no", { status: 404 }) : new Response(content);
    },
  });
  return {
    asked,
    files,
    base: `http://127.0.0.1:${server.port}`,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
      await place[Symbol.asyncDispose]();
    },
  };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const always =
  "awk cat chmod cp cut gzip ls mkdir mktemp mv rm sh tar uname head dirname sha256sum curl xz id true".split(" ");

type InstallOptions = {
  place: Place;
  base: string;
  shell?: readonly string[];
  /** Programs that are not there. */
  without?: readonly string[];
  with?: readonly string[];
  env?: Record<string, string>;
  args?: readonly string[];
  script?: string;
};

/** Runs install.sh with the programs of a small system. */
export async function install({ place, base, shell = ["sh"], ...options }: InstallOptions): Promise<Ran> {
  const { without = [], env = {}, args = [], script = resolve("install.sh") } = options;
  const bin = mkdtempSync(join(place.home, "tools-"));
  for (const name of [...always, ...(options.with ?? [])].filter((each) => !without.includes(each))) {
    const path = Bun.which(name);
    if (path !== null) symlinkSync(path, join(bin, name));
  }
  const [program = "sh", ...flags] = shell;
  const given = { PATH: bin, HOME: place.home, KODA_DOWNLOAD_BASE: base, ...env };
  const argv = [Bun.which(program) ?? program, ...flags, script, "--version", version, ...args];
  return await runIn(place, argv, { env: given });
}
