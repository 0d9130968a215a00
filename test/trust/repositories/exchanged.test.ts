import { describe, expect, test } from "bun:test";
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isToolConfigName } from "../../../lib/sandbox/policy/toolconfig.ts";
import type { RepositoryFinding } from "../../../lib/trust/repositories/finding.ts";
import { Guard } from "../../../lib/trust/repositories/guard.ts";
import { identityAt } from "../../../lib/trust/repositories/identity.ts";
import { NewRepositories } from "../../../lib/trust/repositories/newrepositories.ts";
import { ProtectedPaths } from "../../../lib/trust/repositories/protected.ts";
import { makePlace } from "../../support/place.ts";
import { bareFiles, live, writeFiles, type Files } from "./repository.ts";

const git = (directory: string): Files =>
  Object.fromEntries(Object.entries(bareFiles).map(([name, content]) => [`${directory}/${name}`, content]));

const mine: Files = {
  ".vscode/settings.json": "{}",
  "packages/x/.claude/settings.json": "{}",
  ".envrc": "mine",
  ...git(".git"),
  ...git(".git/modules/s"),
  "s/.git": "gitdir: ../.git/modules/s\n",
  "src/a": "a",
};

const directories = [".vscode", "packages/x/.claude", ".git"];

/** Looks as a run does while a command works, and after it. */
async function project(prepare: (at: (path: string) => string) => void = () => undefined) {
  const place = makePlace();
  const { project, home } = place;
  writeFiles(project, mine);
  const at = (path: string) => join(project, path);
  prepare(at);
  const config = { isConfig: (path: string) => isToolConfigName(basename(path)), isOpen: false };
  const paths = await ProtectedPaths.find([project], live, { config });
  const quarantine = join(home, "quarantine");
  const guard = new Guard(paths, { quarantine });
  const newcomers = new NewRepositories(paths, { quarantine });
  const first = new Map(directories.map((path) => [path, identityAt(at(path))]));
  const moved = () => directories.filter((path) => identityAt(at(path)) !== first.get(path));
  const changed = () => Object.entries(mine).flatMap(([path, text]) => (holds(at(path), text) ? [] : [path]));
  await guard.begin();
  return {
    ...place,
    at,
    guard,
    newcomers,
    /** What is not what it was, and the directories that are not the same any more. */
    differing: () => [...changed(), ...moved()],
    exchange: (one: string, other: string) => exchange(at(one), at(other), at("src/between")),
    look: () => newcomers.look(live, { isGlance: true }),
    end: async () => [...(await guard.end()), ...(await newcomers.look(live))],
  };
}

function holds(path: string, content: Files[string]): boolean {
  if (!existsSync(path)) return false;
  return typeof content === "string" && content !== "directory" ? readFileSync(path, "utf8") === content : true;
}

function exchange(one: string, other: string, between: string): void {
  renameSync(one, between);
  renameSync(other, one);
  renameSync(between, other);
}

const unrestored = (findings: readonly RepositoryFinding[]) =>
  findings.filter((finding) => finding.kind !== "restored" || finding.error !== undefined);

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("everything is where it was", () => {
  test("when two protected directories have been exchanged", async () => {
    await using run = await project();
    run.exchange(".vscode", "packages/x/.claude");
    expect(unrestored(await run.end())).toEqual([]);
    expect(run.differing()).toEqual([]);
  });

  test("when a repository lies where settings lay, and a directory of the command's where the repository was", async () => {
    await using run = await project();
    mkdirSync(run.at("fake"));
    run.exchange("fake", ".git");
    run.exchange("fake", ".envrc");
    expect(unrestored(await run.end())).toEqual([]);
    expect(run.differing()).toEqual([]);
  });

  test("whenever during a look they are exchanged with a directory of the command's", async () => {
    let isOver = false;
    for (let turns = 0; !isOver; turns++) {
      await using run = await project();
      mkdirSync(run.at("fake"));
      let isDone = false;
      const looking = run.guard.restore().then(() => (isDone = true));
      for (let count = 0; count < turns; count++) await turn();
      isOver = isDone;
      for (const path of [".vscode", ".envrc", "packages/x/.claude"]) run.exchange("fake", path);
      await looking;
      await run.look();
      const result = { unrestored: unrestored(await run.end()), differing: run.differing() };
      expect<object>({ turns, ...result }).toEqual({ turns, unrestored: [], differing: [] });
    }
  });

  test("when the look for new repositories has moved away what lay in their place", async () => {
    await using run = await project();
    writeFileSync(run.at("src/prepared"), "evil");
    renameSync(run.at("src/prepared"), run.at(".envrc"));
    expect(await run.look()).toMatchObject([{ kind: "quarantined", path: run.at(".envrc") }]);
    expect(await run.end()).toMatchObject([{ kind: "restored", path: run.at(".envrc") }]);
    expect(run.differing()).toEqual([]);
  });

  test("when a look for new repositories begins while a directory is made again", async () => {
    const many = Array.from({ length: 50 }, (_, index) => [`.vscode/themes/${index}/theme.json`, "{}"]);
    await using run = await project((at) => writeFiles(at("."), Object.fromEntries(many)));
    rmSync(run.at(".vscode"), { recursive: true });
    const ending = run.end();
    while (!existsSync(run.at(".vscode/settings.json"))) await turn();
    expect(unrestored([...(await run.look()), ...(await ending)])).toEqual([]);
    expect(run.differing()).toEqual([".vscode"]);
  });
});

describe("what was restored is held like what was there before", () => {
  test("a directory that koda made again is moved back from where others would obey it", async () => {
    await using run = await project();
    rmSync(run.at(".vscode"), { recursive: true });
    await run.guard.restore();
    await run.look();
    writeFileSync(run.at(".vscode/tasks.json"), "evil");
    renameSync(run.at(".vscode"), run.at("src/.vscode"));
    expect(unrestored(await run.end())).toEqual([]);
    expect(existsSync(run.at("src/.vscode"))).toBe(false);
    expect(existsSync(run.at(".vscode/tasks.json"))).toBe(false);
    expect(readFileSync(run.at(".vscode/settings.json"), "utf8")).toBe("{}");
  });

  test("a repository that was in one, and was made again there, is judged where it lies now", async () => {
    await using run = await project();
    writeFileSync(run.at(".git/modules/s/config"), "[core]\n\tpager = evil\n");
    renameSync(run.at(".git/modules/s"), run.at("src/.git"));
    expect(await run.end()).toMatchObject([
      { kind: "restored", path: run.at(".git") },
      { kind: "quarantined", path: run.at("src/.git") },
    ]);
    expect(run.differing()).toEqual([]);
  });

  test("the other name of a file that was replaced stays what it was", async () => {
    const linked = (at: (path: string) => string) => linkSync(at(".envrc"), at("src/.envrc"));
    await using run = await project(linked);
    rmSync(run.at(".envrc"));
    expect(unrestored(await run.end())).toEqual([]);
    expect(readFileSync(run.at("src/.envrc"), "utf8")).toBe("mine");
    expect(run.differing()).toEqual([]);
  });
});
