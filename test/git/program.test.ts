import { expect, test } from "bun:test";
import { join } from "node:path";
import { findGit, GitError, runGit } from "../../lib/git/program.ts";
import { git } from "../support/fleetplace.ts";
import { makePlace } from "../support/place.ts";

test("git is ended when it needs too much memory, as for a few objects that are a tree of a thousand million files", async () => {
  await using place = makePlace();
  const made = (input: string, ...args: string[]) =>
    Bun.spawnSync(["git", ...args], { cwd: place.project, env: place.env, stdin: Buffer.from(input) })
      .stdout.toString()
      .trim();
  git(place, place.project, "init", "--quiet");
  const ten = (entry: string) => Array.from({ length: 10 }, (_, index) => `${entry}\t${index}\n`).join("");
  let tree = made(ten(`100644 blob ${made("x", "hash-object", "-w", "--stdin")}`), "mktree");
  for (let level = 1; level < 9; level++) tree = made(ten(`040000 tree ${tree}`), "mktree");
  const program = findGit(place.env.PATH, []);
  if (program === undefined) throw new Error("there is no git");
  const directory = join(place.project, ".git");
  const { signal } = new AbortController();
  const run = { git: program, directory, workTree: place.project, cwd: place.project, signal };
  const reading = runGit({ ...run, mostMemory: 64 * 1024 * 1024 }, ["read-tree", tree]);
  const error = await reading.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(GitError);
  expect(error).toHaveProperty("message", "git read-tree needs more than 64 MiB of memory");
});
