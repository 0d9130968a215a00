import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { changeFiles, ChangeRefused, type FileChange } from "../../lib/files/changefiles.ts";
import { namesIn } from "../support/files.ts";
import { makePlace, type Place } from "../support/place.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Changes of the files of a project, as they are now. */
function changesIn({ project }: Place) {
  const at = (name: string) => join(project, name);
  const look = (name: string) => lstatSync(at(name), { bigint: true });
  return {
    at,
    look,
    create: (name: string, text: string): FileChange => ({ kind: "create", path: at(name), content: bytes(text) }),
    replace(name: string, text: string): FileChange {
      const before = readFileSync(at(name));
      return { kind: "replace", path: at(name), content: bytes(text), before, old: look(name) };
    },
    remove: (name: string): FileChange => ({ kind: "remove", path: at(name), old: look(name) }),
    text: (name: string) => readFileSync(at(name), "utf8"),
  };
}

test("all changes are made, and nothing else is left", async () => {
  await using place = makePlace({ a: "old", gone: "x", "script.sh": "#!/bin/sh\n" });
  const { at, create, replace, remove, text } = changesIn(place);
  chmodSync(at("script.sh"), 0o750);
  symlinkSync("nowhere", at("link"));
  const like = lstatSync(at("script.sh"), { bigint: true });
  changeFiles([
    replace("a", "new"),
    create("d/e/f", "made"),
    create("d/e/g", "made too"),
    remove("gone"),
    remove("link"),
    { kind: "create", path: at("run.sh"), content: bytes("#!/bin/sh\n"), like },
    remove("script.sh"),
  ]);
  expect(namesIn(place.project)).toEqual(["a", "d", "run.sh"]);
  expect(namesIn(at("d/e"))).toEqual(["f", "g"]);
  expect([text("a"), text("d/e/f"), text("run.sh")]).toEqual(["new", "made", "#!/bin/sh\n"]);
  expect(statSync(at("run.sh")).mode & 0o777).toBe(0o750);
});

describe("when one change fails, everything is as it was", () => {
  const rows: [what: string, last: (place: Place) => FileChange, says: string][] = [
    ["a file that appeared", (place) => changesIn(place).create("there", "mine"), "EEXIST"],
    ["a file that was replaced", staleReplacement, "replaced by something else"],
    ["a file that was written to before it was removed", staleRemoval, "replaced by something else"],
    ["a directory that is a file", (place) => changesIn(place).create("there/x", "mine"), "there"],
    ["a directory that is a symlink", (place) => changesIn(place).create("way/x", "mine"), "way"],
  ];

  test.each(rows)("%s", async (_, last, says) => {
    await using outside = makePlace({});
    await using place = makePlace({ a: "old", gone: "x", there: "theirs" });
    const { at, create, replace, remove, text } = changesIn(place);
    chmodSync(at("a"), 0o640);
    symlinkSync(outside.project, at("way"));
    const before = namesIn(place.project);
    const changes = [replace("a", "new"), create("d/e/f", "made"), remove("gone"), last(place)];
    expect(() => changeFiles(changes)).toThrow(says);
    expect(namesIn(place.project)).toEqual(before);
    expect([text("a"), text("gone"), text("there")]).toEqual(["old", "x", "theirs"]);
    expect(statSync(at("a")).mode & 0o777).toBe(0o640);
    expect(namesIn(outside.project)).toEqual([]);
  });

  function staleReplacement(place: Place): FileChange {
    const { at, look } = changesIn(place);
    const before = readFileSync(at("there"));
    return { kind: "replace", path: at("there"), content: bytes("mine"), before, old: look("gone") };
  }

  function staleRemoval(place: Place): FileChange {
    const { at, look } = changesIn(place);
    return { kind: "remove", path: at("there"), old: look("gone") };
  }
});

test("a directory that others have put something into meanwhile stays", async () => {
  await using place = makePlace({ there: "theirs" });
  const { at, create } = changesIn(place);
  const last: FileChange = {
    kind: "create",
    path: at("there"),
    get content() {
      writeFileSync(at("d/others"), "x");
      return bytes("mine");
    },
  };
  expect(() => changeFiles([create("d/mine", "x"), last])).toThrow("EEXIST");
  expect(namesIn(at("d"))).toEqual(["others"]);
});

test("a file that cannot come back is named, with the reason of the failure", async () => {
  await using place = makePlace({ gone: "x", other: "y" });
  const { at, remove } = changesIn(place);
  const last: FileChange = {
    kind: "remove",
    path: at("other"),
    get old() {
      for (const name of namesIn(place.project)) if (name.startsWith(".koda-")) rmSync(at(name));
      return lstatSync(place.project, { bigint: true });
    },
  };
  const error = (() => {
    try {
      changeFiles([remove("gone"), last]);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toBeInstanceOf(ChangeRefused);
  expect(error).toMatchObject({ path: at("other"), lost: [at("gone")], cause: { code: "ESTALE" } });
  expect(existsSync(at("other"))).toBe(true);
});
