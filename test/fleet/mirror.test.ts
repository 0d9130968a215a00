import { expect, test } from "bun:test";
import { join } from "node:path";
import { fetchBranch, findRevision, openMirror, startName } from "../../lib/fleet/work/mirror.ts";
import { userGit } from "../../lib/fleet/work/usergit.ts";
import { git, makeRepository } from "../support/fleetplace.ts";
import { makePlace } from "../support/place.ts";

test("the branches of a mirror stay as they were, also when one is fetched again", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  const commit = () => git(place, repo, "rev-parse", "HEAD").trim();
  const signal = new AbortController().signal;
  const source = { user: userGit(place.env), directory: join(place.home, "mirror"), repo, signal };
  const mirror = await openMirror(source);
  const first = commit();
  git(place, repo, "commit", "--quiet", "--allow-empty", "--message=second");
  expect(await fetchBranch(source, mirror, "main")).toEqual({ commit: commit(), branch: "main" });
  for (const ref of [undefined, "main", "HEAD"])
    expect(await findRevision(source, mirror, ref)).toEqual({ commit: first, branch: "main" });
  for (const ref of ["main~0", "HEAD~0"]) expect(await findRevision(source, mirror, ref)).toEqual({ commit: first });
  // git keeps a branch as a file, and a file "main" leaves no room for a directory "main".
  git(place, repo, "branch", "--move", "main", "main/1");
  expect(await fetchBranch(source, mirror, "main/1")).toEqual({ commit: commit(), branch: "main/1" });
});

test("HEAD is another name of the default branch", () => {
  expect(startName({ defaultBranch: "refs/heads/main" }, "HEAD")).toBe("main");
});
