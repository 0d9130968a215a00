import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A clean checkout of this tree in a directory of its own, with the packages that a release is made of. */
export type Checkout = Disposable & { path: string; run(...argv: string[]): { exitCode: number; said: string } };

/** Commits have the same hash in every checkout; `below` leads to one that lies deeper. */
export function makeCheckout(below = "koda"): Checkout {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "koda-checkout-")));
  const path = join(base, below);
  mkdirSync(path, { recursive: true });
  const run = (...argv: string[]) => {
    const child = Bun.spawnSync(argv, { cwd: path, env: { ...process.env, ...committer }, stdin: "ignore" });
    return { exitCode: child.exitCode, said: child.stdout.toString() + child.stderr.toString() };
  };
  for (const name of [...sources, ...packages()]) copyTo(path, name);
  run("git", "init", "--quiet");
  run("git", "add", ".");
  const { exitCode, said } = run("git", "commit", "--quiet", "--message", "release");
  if (exitCode !== 0) throw new Error(`git could not commit in "${path}": ${said}`);
  return { path, run, [Symbol.dispose]: () => rmSync(base, { recursive: true, force: true }) };
}

const sources = [
  "cmd",
  "lib",
  "release",
  "npm",
  "install.sh",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "LICENSE",
  ".gitignore",
];

/** All but what is for development only, which is ten times as much. */
function packages(): string[] {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const inBinary = Object.entries<{ dev?: true }>(packages).flatMap(([place, { dev }]) =>
    dev || place === "" ? [] : place,
  );
  const forBuild = ["node_modules/@pydantic/genai-prices", "node_modules/bun-types/docs/project"];
  return [...inBinary, ...forBuild].filter((place) => existsSync(place));
}

function copyTo(path: string, name: string): void {
  mkdirSync(dirname(join(path, name)), { recursive: true });
  cpSync(name, join(path, name), { recursive: true });
}

const who = { NAME: "koda", EMAIL: "koda@example.com", DATE: "2026-01-02T03:04:05Z" };
const committer = Object.fromEntries(
  Object.entries(who).flatMap(([name, value]) => ["AUTHOR", "COMMITTER"].map((role) => [`GIT_${role}_${name}`, value])),
);
