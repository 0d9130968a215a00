import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { gitPlaces, leadsTo } from "../../lib/git/places.ts";
import { makePlace } from "../support/place.ts";

describe("the repository of a work tree", () => {
  const commonAt = { "store/HEAD": "", "store/worktrees/one/commondir": "../..\n" };
  const rows: readonly [name: string, files: Record<string, string>, directory: string, common: string][] = [
    ["lies in .git", { ".git/HEAD": "" }, ".git", ".git"],
    [
      "lies where a .git file says",
      { ".git": "gitdir: modules/sub\r\n", "modules/sub/HEAD": "" },
      "modules/sub",
      "modules/sub",
    ],
    [
      "shares with others what commondir names",
      { ".git": "gitdir: store/worktrees/one\n", ...commonAt },
      "store/worktrees/one",
      "store",
    ],
  ];
  for (const [name, files, directory, common] of rows)
    test(name, async () => {
      await using place = makePlace(files);
      const at = (path: string) => join(place.project, path);
      expect(gitPlaces(place.project)).toEqual({ directory: at(directory), common: at(common) });
      expect(leadsTo(at(".git"))).toEqual([...new Set([directory, common])].filter((path) => path !== ".git").map(at));
    });

  test("is named even when it does not exist", async () => {
    await using place = makePlace({ ".git": "gitdir: /nowhere/modules/sub\n" });
    expect(leadsTo(join(place.project, ".git"))).toEqual(["/nowhere/modules/sub"]);
  });

  test("is none for a FIFO, nonsense, a second line and nothing", async () => {
    await using place = makePlace({ "nonsense/.git": "gitdir:", "second/.git": "# \ngitdir: /tmp\n" });
    mkdirSync(join(place.project, "fifo"));
    Bun.spawnSync(["mkfifo", join(place.project, "fifo/.git")]);
    for (const top of ["fifo", "nonsense", "second", "nothing"])
      expect(gitPlaces(join(place.project, top))).toBeUndefined();
  });
});
