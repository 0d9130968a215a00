import { expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { evaluateAsNobody, letEveryoneIn } from "../../support/nobody.ts";
import { makePlace } from "../../support/place.ts";

/*
 * For whoever is not root the system draws lines: what cannot be read must count as dangerous, and what can only be
 * moved after its mode was changed must be moved.
 */
const lib = `${import.meta.dir}/../../../lib/trust/repositories`;

/** Runs in a process without root's rights, in a directory that it may write to. */
async function asNobody(script: string): Promise<unknown> {
  await using place = makePlace();
  letEveryoneIn(place);
  chmodSync(place.project, 0o777);
  const modules = ["judge", "protected", "quarantine", "identity", "guard", "newrepositories"];
  const imports = modules.map((name) => `...(await import(${JSON.stringify(`${lib}/${name}.ts`)}))`);
  const preamble = `
    const { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } = await import("node:fs");
    const { judgeRepository, ProtectedPaths, moveToQuarantine, identityAt, Guard, NewRepositories } = { ${imports.join(", ")} };
    const live = new AbortController().signal;
    const project = input + "/work";
    const quarantine = input + "/quarantine";
    mkdirSync(project + "/sub/.git/hooks", { recursive: true });
    writeFileSync(project + "/sub/.git/HEAD", "");
    writeFileSync(project + "/sub/.git/config", "");
    process.umask(0o022);`;
  return await evaluateAsNobody(`${preamble}\n${script}`, place.project);
}

test.each(["config", "HEAD", "hooks"])(
  "a repository whose %s cannot be read is dangerous, if git would look there",
  async (name) => {
    const reason = await asNobody(`
    chmodSync(project + "/sub/.git/${name}", 0);
    const answer = [judgeRepository(project + "/sub/.git", { roots: [project] })];`);
    expect(reason).toEqual([name === "HEAD" ? null : expect.stringContaining("it cannot be read: permission denied")]);
  },
);

test("a directory that a command closed is opened, and judged with all that is in it", async () => {
  const answer = await asNobody(`
    mkdirSync(project + "/closed");
    chmodSync(project + "/closed", 0);
    const paths = await ProtectedPaths.find([project], live);
    const newcomers = new NewRepositories(paths, { quarantine });
    const first = await newcomers.look(live);
    for (const name of ["deep", "deep/er"]) {
      mkdirSync(project + "/" + name + "/.git", { recursive: true });
      writeFileSync(project + "/" + name + "/.git/config", "[core]\\npager = evil\\n");
    }
    for (const name of ["deep/er", "deep"]) chmodSync(project + "/" + name, 0o300);
    const glance = await newcomers.look(live, { isGlance: true });
    const second = await newcomers.look(live);
    const kinds = second.map(({ kind, path }) => kind + " " + path.slice(project.length + 1)).sort();
    const answer = [first.length, glance.length, kinds, statSync(project + "/closed").mode & 0o777];`);
  expect(answer).toEqual([0, 0, ["quarantined deep/.git", "quarantined deep/er/.git"], 0]);
});

test("a directory that may be listed and not entered hides nothing", async () => {
  const answer = await asNobody(`
    chmodSync(project + "/sub", 0o444);
    const paths = await ProtectedPaths.find([project], live);
    chmodSync(project + "/sub", 0o755);
    const answer = [paths.unreadable, paths.paths];`);
  expect(answer).toEqual([[expect.stringContaining("work/sub")], []]);
});

test("a repository that may not be written to is quarantined all the same", async () => {
  const answer = await asNobody(`
    const path = project + "/sub/.git";
    chmodSync(path, 0o500);
    const found = await moveToQuarantine({ path, identity: identityAt(path), reason: "" }, quarantine);
    const answer = [found.kind, existsSync(path)];`);
  expect(answer).toEqual(["quarantined", false]);
});

test("a file that was made unreadable is restored with its mode", async () => {
  const answer = await asNobody(`
    const guard = new Guard(await ProtectedPaths.find([project], live), { quarantine });
    writeFileSync(project + "/sub/.git/config", "mine");
    await guard.begin();
    writeFileSync(project + "/sub/.git/config", "evil");
    chmodSync(project + "/sub/.git/config", 0);
    chmodSync(project + "/sub/.git/hooks", 0);
    const findings = await guard.end();
    const modes = ["config", "hooks"].map((name) => statSync(project + "/sub/.git/" + name).mode & 0o777);
    const answer = [findings.map(({ parts, lost }) => [parts, lost]), modes, readFileSync(project + "/sub/.git/config", "utf8")];`);
  expect(answer).toEqual([[[["config", "hooks"], []]], [0o644, 0o755], "mine"]);
});

test("what lies in a directory that a command closed is restored, wherever it is now", async () => {
  const answer = await asNobody(`
    for (const name of ["old", "there"]) mkdirSync(project + "/" + name);
    writeFileSync(project + "/old/program", "mine");
    const paths = await ProtectedPaths.find([project], live);
    const also = ["old/program", "there/program", "later/program"].map((path) => project + "/" + path);
    const guard = new Guard(paths, { quarantine, also });
    await guard.begin();
    mkdirSync(project + "/later");
    for (const path of also) writeFileSync(path, "evil");
    mkdirSync(project + "/hidden");
    renameSync(project + "/sub", project + "/hidden/sub");
    writeFileSync(project + "/hidden/sub/.git/config", "evil");
    const closed = ["old", "there", "later", "hidden"].map((name) => project + "/" + name);
    for (const path of closed) chmodSync(path, 0);
    await guard.end();
    for (const path of closed) chmodSync(path, 0o755);
    const read = (path) => (existsSync(path) ? readFileSync(path, "utf8") : null);
    const answer = [...also, project + "/hidden/sub/.git/config"].map(read);`);
  expect(answer).toEqual(["mine", null, null, ""]);
});

test("a directory in which a command closed koda's way to change it is opened for that", async () => {
  const answer = await asNobody(`
    for (const name of ["old", "there"]) mkdirSync(project + "/" + name);
    writeFileSync(project + "/old/program", "mine");
    const paths = await ProtectedPaths.find([project], live);
    const also = ["old/program", "there/program"].map((path) => project + "/" + path);
    const guard = new Guard(paths, { quarantine, also });
    const newcomers = new NewRepositories(paths, { quarantine });
    await guard.begin();
    for (const path of also) writeFileSync(path, "evil");
    renameSync(project + "/sub/.git", project + "/there/.git");
    for (const name of ["sub", "new"]) mkdirSync(project + "/" + name + "/.git", { recursive: true });
    for (const name of ["sub", "new"]) writeFileSync(project + "/" + name + "/.git/config", "[core]\\npager = evil");
    const closed = ["old", "there", "sub", "new"].map((name) => project + "/" + name);
    for (const path of closed) chmodSync(path, 0o555);
    const found = [...(await guard.end()), ...(await newcomers.look(live))];
    const read = (path) => (existsSync(path) ? readFileSync(path, "utf8") : null);
    const contents = [...also, project + "/sub/.git/config", project + "/new/.git/config"].map(read);
    const answer = [contents, found.filter(({ kind, lost = [] }) => kind === "failed" || lost.length > 0)];`);
  expect(answer).toEqual([["mine", null, "", null], []]);
});
