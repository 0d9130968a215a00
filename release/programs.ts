import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { lockedPackage } from "./lockfile.ts";
import { hostTarget, type Target } from "./targets.ts";

/** A program that becomes part of the binary, out of a package of the lock file. */
export type Program = { path: string; packageName: string };

/** Bun as the target runs it. */
export function bunOf(target: Target): Program {
  const packageName = `@oven/bun-${target.replace("arm64", "aarch64")}`;
  // npm has moved it out of its package, as the Bun that runs this.
  const isHost = target === hostTarget();
  return { packageName, path: isHost ? process.execPath : installed(packageName, "bin/bun") };
}

/** ripgrep is linked statically, so that one program serves glibc and musl. */
export function ripgrepOf(target: Target): Program {
  const packageName = `@vscode/ripgrep-${target.replace("-musl", "")}`;
  return { packageName, path: installed(packageName, "bin/rg") };
}

/** From node_modules, where npm installs what is for this machine; otherwise fetched once and kept below it. */
function installed(packageName: string, file: string): string {
  const { version } = lockedPackage(`node_modules/${packageName}`);
  const kept = `node_modules/.cache/programs/${packageName}-${version}/${file}`;
  const found = [`node_modules/${packageName}/${file}`, kept].find((path) => existsSync(path));
  if (found === undefined) fetchPackage(packageName, kept.slice(0, -file.length - 1), file);
  return resolve(found ?? kept);
}

function fetchPackage(packageName: string, directory: string, file: string): void {
  const { version, integrity } = lockedPackage(`node_modules/${packageName}`);
  mkdirSync("node_modules/.cache", { recursive: true });
  const scratch = mkdtempSync("node_modules/.cache/fetched-");
  try {
    const tarball = join(
      scratch,
      run("npm", "pack", "--silent", "--pack-destination", scratch, `${packageName}@${version}`),
    );
    const digest = createHash("sha512").update(readFileSync(tarball)).digest("base64");
    if (`sha512-${digest}` !== integrity)
      throw new Error(
        `${packageName}@${version} is not what package-lock.json has: sha512-${digest}, expected ${integrity}`,
      );
    run("tar", "-xzf", tarball, "-C", scratch, `package/${file}`);
    chmodSync(join(scratch, "package", file), 0o755);
    mkdirSync(join(directory, ".."), { recursive: true });
    rmSync(directory, { recursive: true, force: true });
    renameSync(join(scratch, "package"), directory);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function run(...argv: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(argv, { stdout: "pipe", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")} exited ${exitCode}: ${stderr.toString().trim()}`);
  return stdout.toString().trim();
}
