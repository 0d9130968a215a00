import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../support/model-server.ts";
import { askedOf, finding, found, makeRepository, review, reviewText } from "../support/review.ts";
import { readSarif } from "../support/sarif.ts";

/** A repository in which everything that git could run leaves a trace. */
function makeTrap() {
  const place = makeRepository({
    "a.txt": "one\n",
    "b.txt": "two\n",
    ".gitattributes": "* filter=evil diff=evil merge=evil\n",
  });
  const trace = join(place.project, "../trace");
  const evil = join(place.project, "../evil");
  writeFileSync(evil, `#!/bin/sh\necho "$0 $*" >> ${trace}\ncat\n`);
  chmodSync(evil, 0o755);
  place.write("a.txt", "changed\n");
  place.write("new.txt", "new\n");
  place.git("commit", "-qam", "second");
  place.write("b.txt", "changed\n");
  for (const hook of ["post-index-change", "reference-transaction", "pre-commit"])
    writeFileSync(join(place.project, ".git/hooks", hook), `#!/bin/sh\necho ${hook} >> ${trace}\n`, { mode: 0o755 });
  const more = join(place.project, "../more");
  writeFileSync(more, settingsWith(evil));
  writeFileSync(join(place.project, ".git/config"), `[core]\n\tbare = false\n[include]\n\tpath = ${more}\n`);
  return { place, hasRun: () => existsSync(trace) };
}

/** Every setting that names a program. */
function settingsWith(program: string): string {
  const sections = {
    core: ["fsmonitor", "pager", "sshCommand", "editor"],
    diff: ["external"],
    'diff "evil"': ["textconv", "command"],
    'filter "evil"': ["clean", "smudge", "process"],
    credential: ["helper"],
  };
  return Object.entries(sections)
    .flatMap(([section, keys]) => [`[${section}]`, ...keys.map((key) => `\t${key} = ${program}`), ""])
    .join("\n");
}

describe("nothing that a repository configures runs, for", () => {
  for (const args of [[], ["--base", "HEAD~1"], ["--commit", "HEAD"]])
    test(args.join(" ") || "what is not committed", async () => {
      const { place, hasRun } = makeTrap();
      await using _ = place;
      await using server = await startModelServer([found()]);
      const { end } = await review(place, server, args);
      expect([end.status, hasRun()]).toEqual(["done", false]);
      expect(askedOf(server.requests[0])).toContain("+changed\n");
      // git itself would have run it.
      place.git("status");
      expect(hasRun()).toBe(true);
    });
});

test("attributes of the repository do not hide a change", async () => {
  await using place = makeRepository({ "a.ts": "one\n", ".gitattributes": "*.ts binary linguist-generated -diff\n" });
  place.write("a.ts", "// @generated: do not edit\nbackdoor();\n");
  await using server = await startModelServer([found(finding("a.ts"))]);
  const { end } = await review(place, server);
  expect(askedOf(server.requests[0])).toContain("+backdoor();\n");
  expect(end.output).toMatchObject({ findings: [{ path: "a.ts" }] });
});

test("names of files are what they are, whatever they look like", async () => {
  const names = [
    "::error file=x::y.ts",
    "a\ndiff --git a/b b/b.ts",
    "Binary files a and b differ",
    'quo"te\\.ts',
    "<b>&amp;.ts",
    "esc\u001b[31m.ts",
    ":(exclude)*",
    "größe 日本.ts",
    "*.ts",
  ];
  await using place = makeRepository();
  for (const name of names) place.write(name, `line of ${JSON.stringify(name)}\n`);
  place.write("skip.lock", "x\n");
  await using server = await startModelServer([found(...names.map((name) => finding(name)))]);
  const { stdout } = await reviewText(place, server, ["--format", "sarif"]);
  const paths = readSarif(stdout).results.map(({ locations: [first] }) =>
    decodeURIComponent(first?.physicalLocation.artifactLocation.uri ?? ""),
  );
  expect(paths.toSorted()).toEqual(names.toSorted());
  const asked = askedOf(server.requests[0]);
  for (const name of names) expect(asked).toContain(`+line of ${JSON.stringify(name)}\n`);
  const [, list = ""] = /The changed files:\n([\s\S]*?)\n\n/.exec(asked) ?? [];
  expect(list.split("\n")).toHaveLength(names.length);
});

test("a pipe in the place of a file holds nothing, and a damaged repository is no bug of koda's", async () => {
  await using place = makeRepository();
  place.write("a.txt", "x\n");
  expect(
    Bun.spawnSync(["mkfifo", join(place.project, "pipe"), join(place.project, ".git/refs/heads/held")]).exitCode,
  ).toBe(0);
  await using server = await startModelServer([found()]);
  expect((await review(place, server)).end.status).toBe("done");
  const held = await review(place, server, ["--base", "held"]);
  expect([held.end.exit, held.end.error?.code]).toEqual([2, "usage"]);
  writeFileSync(join(place.project, ".git/index"), "no index");
  const damaged = await review(place, server);
  expect([damaged.end.exit, damaged.end.session]).toEqual([2, null]);
  expect(damaged.end.error?.message).toStartWith("Cannot find the uncommitted changes: git ");
});
