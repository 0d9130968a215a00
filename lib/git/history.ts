import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSmallText } from "../files/read.ts";
import type { GitPlaces } from "./places.ts";

/** References other than branches and tags that a user may name. */
const pseudoReferences = ["HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD"] as const;

/**
 * Makes a git directory of koda's own know the branches, tags and reflogs of a repository, without its configuration.
 * Only commands that read may follow: the branches are the repository's own.
 */
export function shareHistory(directory: string, { directory: origin, common }: GitPlaces): void {
  for (const name of pseudoReferences) copyText(join(origin, name), join(directory, name));
  copyText(join(common, "shallow"), join(directory, "shallow"));
  rmSync(join(directory, "refs"), { recursive: true, force: true });
  mkdirSync(join(directory, "logs"));
  // Each work tree has a history of its own HEAD.
  const shared = [
    ...["refs", "packed-refs", "logs/refs"].map((name) => [common, name]),
    [origin, "logs/HEAD"],
  ] as const;
  for (const [from = "", name = ""] of shared)
    if (existsSync(join(from, name))) symlinkSync(join(from, name), join(directory, name));
}

/** The commits whose parents a shallow clone does not have. */
export function shallowCommits(directory: string): readonly string[] {
  return readSmallText(join(directory, "shallow"))
    .split("\n")
    .filter((line) => line !== "");
}

function copyText(from: string, to: string): void {
  const text = readSmallText(from);
  if (text !== "") writeFileSync(to, text);
}
