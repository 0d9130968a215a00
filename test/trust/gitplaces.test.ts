import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { gitPlaces } from "../../lib/trust/gitplaces.ts";
import { makePlace } from "../support/place.ts";

test("a .git that is a file says where the repository is, and with whom it is shared", async () => {
  await using place = makePlace({
    ".git": "gitdir: store/worktrees/one\n",
    "store/worktrees/one/commondir": "../..\n",
  });
  const store = join(place.project, "store");
  expect(gitPlaces(place.project)).toEqual([join(store, "worktrees/one"), store]);
});

test("a submodule's repository is shared with nobody", async () => {
  await using place = makePlace({ ".git": "gitdir: /srv/modules/sub\n" });
  expect(gitPlaces(place.project)).toEqual(["/srv/modules/sub"]);
});

test("a directory, a FIFO, nonsense and nothing name no other place", async () => {
  await using place = makePlace({ "nonsense/.git": "gitdir:" });
  const at = (path: string) => join(place.project, path);
  mkdirSync(at("directory/.git"), { recursive: true });
  mkdirSync(at("fifo"));
  Bun.spawnSync(["mkfifo", at("fifo/.git")]);
  for (const root of ["directory", "fifo", "nonsense", "nothing"]) expect(gitPlaces(at(root))).toEqual([]);
});
