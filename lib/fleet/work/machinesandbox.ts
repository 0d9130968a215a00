import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kodaEnvironment } from "./program.ts";

type Machine = {
  /** The words that start `koda`. */
  program: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
};

/** The name of the sandbox that commands get on this machine, in a directory that asks for nothing; or undefined. */
export async function sandboxOn({ program, env }: Machine): Promise<string | undefined> {
  const directory = mkdtempSync(join(tmpdir(), "koda-machine-"));
  try {
    const child = Bun.spawn([...program, "sandbox", "--json", "--cd", directory, "--", "true"], {
      env: kodaEnvironment(env),
      stdio: ["ignore", "ignore", "pipe"],
      timeout: checkMs,
    });
    const [said, exit] = await Promise.all([child.stderr.text(), child.exited]);
    return exit === 0 ? /"backend":"(\w+)"/.exec(said)?.[1] : undefined;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Those that keep `.git` as it is. Landlock cannot, and objects of git are not restored. */
export async function protectsGit(machine: Machine): Promise<boolean> {
  const name = await sandboxOn(machine);
  return name === "namespaces" || name === "bwrap";
}

const checkMs = 30_000;
