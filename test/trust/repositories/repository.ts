import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makePlace, type Place } from "../../support/place.ts";

export const live = new AbortController().signal;

/** What a test writes into a directory: texts, programs and symlinks, by their paths. */
export type Files = Readonly<Record<string, string | { program: string } | { link: string } | "directory">>;

export const directory = "directory" as const;

export function writeFiles(base: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    const target = join(base, path);
    mkdirSync(content === directory ? target : dirname(target), { recursive: true });
    if (content === directory) continue;
    if (typeof content === "string") writeFileSync(target, content);
    else if ("link" in content) symlinkSync(content.link, target);
    else {
      writeFileSync(target, content.program);
      chmodSync(target, 0o755);
    }
  }
}

/** As much as git needs to take a directory for a repository. */
export const bareFiles: Files = {
  HEAD: "ref: refs/heads/main\n",
  config: "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
  objects: directory,
  refs: directory,
};

/** A repository in the project, with more in its git directory, or other things in place of what is there. */
export function makeRepository(files: Files = {}, at = ".git"): Place & { gitDirectory: string; marker: string } {
  const place = makePlace();
  const gitDirectory = join(place.project, at);
  mkdirSync(gitDirectory, { recursive: true });
  const base = Object.entries(bareFiles).filter(([name]) => !(name in files));
  writeFiles(gitDirectory, { ...Object.fromEntries(base), ...files });
  return { ...place, gitDirectory, marker: join(place.home, "marker") };
}

/** git as the user would run it after koda, in a repository that the test itself wrote; it may fail. */
export function runAsUser(cwd: string, place: Place, args: readonly string[]): void {
  const who = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"];
  Bun.spawnSync(["git", ...who, ...args], {
    cwd,
    env: { ...place.env, GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0" },
    stdio: ["ignore", "ignore", "ignore"],
  });
}
