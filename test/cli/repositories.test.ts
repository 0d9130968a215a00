import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { asInDocker, programWithout, strongestAndMountless } from "../support/denied.ts";
import { binary, checkLines, type RanExec, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer, type ModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { finished, spawnIn } from "../support/run.ts";
import { until } from "../support/until.ts";
import { runGit } from "../support/worktree.ts";

describe.each(strongestAndMountless)("in the tier $name", ({ name, prefix }) => {
  const start = (place: Place, server: ModelServer, ...flags: string[]) =>
    spawnIn(place, [...prefix(place), binary, "exec", "--json", ...using(server), ...flags, "hi"]);

  async function run(place: Place, ...commands: readonly (string | ReturnType<typeof call>)[]): Promise<RanExec> {
    const calls = commands.map((each) => (typeof each === "string" ? call("Bash", { command: each }) : each));
    await using server = await startModelServer([...calls, say("Done.")]);
    const ran = await finished(start(place, server));
    const checked = { ...ran, ...checkLines(ran) };
    expect(checked.events[0]).toMatchObject({ sandbox: { backend: name } });
    return checked;
  }

  const notices = ({ events }: RanExec) =>
    events.flatMap((event) => (event.type === "notice" && event.code === "repository" ? [event.message] : []));
  const outcomes = ({ events }: RanExec) => events.flatMap((event) => (event.type === "tool.end" ? [event.ok] : []));

  test("a repository is begun at the top of an empty project, and gets its first commits", async () => {
    await using place = makePlace();
    const who = "git config user.name a; git config user.email a@example.com";
    const ran = await run(
      place,
      "git init -q",
      `${who}; echo a > a; git add a; git commit -qm one`,
      "git log --oneline",
    );
    expect(outcomes(ran)).toEqual([true, true, true]);
    expect(runGit(place.project, place.env, ["log", "--format=%s"])).toBe("one\n");
    expect(notices(ran)).toEqual(['A command made ".git", a repository; nothing in it runs by itself.']);
  });

  test("a trap is quarantined while the command that laid it still runs", async () => {
    const lay = "mkdir -p t/.git; printf '[core]\\n\\tfsmonitor = ./evil\\n' > t/.git/config";
    await using place = makePlace({ "lay.sh": `${lay}; while test -e t/.git; do sleep 0.1; done` });
    const ran = await run(place, "sh lay.sh");
    expect(outcomes(ran)).toEqual([true]);
    expect(notices(ran)).toEqual([expect.stringContaining('Quarantined "t/.git"')]);
  });

  test("a task in the background changes nothing that lasts, whenever it does", async () => {
    await using place = makePlace({ "src/a": "" });
    runGit(place.project, place.env, ["init", "-q"]);
    const config = readFileSync(join(place.project, ".git/config"), "utf8");
    const task = "while :; do git config core.fsmonitor ./evil; touch tried; sleep 0.01; done 2>/dev/null";
    const wait = "rm -f tried; while ! test -e tried; do sleep 0.01; done";
    const background = call("Bash", { command: task, background: true });
    const ran = await run(place, background, wait, wait, "true");
    expect(outcomes(ran)).toEqual([true, true, true, true]);
    expect(readFileSync(join(place.project, ".git/config"), "utf8")).toBe(config);
  });

  test("the paths that the user's configuration of git names stay as they are, there or not", async () => {
    await using place = makePlace({
      ".githooks/_/pre-commit": "mine\n",
      "tools/clean.sh": "mine\n",
      more: "[user]\n",
      src: "",
    });
    runGit(place.project, place.env, ["init", "-q"]);
    for (const [key, value] of [
      ["core.hooksPath", ".githooks/_"],
      ["include.path", "../more"],
      ["filter.x.clean", "sh 'tools/clean.sh' %f"],
    ])
      runGit(place.project, place.env, ["config", key ?? "", value ?? ""]);
    writeFileSync(join(place.home, ".gitconfig"), '[includeIf "gitdir:/"]\n\tpath = ../project/missing\n');
    const written = [".githooks/_/pre-commit", ".githooks/_/post-commit", "tools/clean.sh", "more", "missing", "src"];
    const ran = await run(place, written.map((path) => `echo changed > ${path}`).join("; "));
    const now = written.map((path) => {
      const file = join(place.project, path);
      return existsSync(file) ? readFileSync(file, "utf8").trim() : "nothing";
    });
    expect(now).toEqual(["mine", "nothing", "mine", "[user]", "nothing", "changed"]);
    expect(notices(ran)).toHaveLength(4);
  });

  test("so do the files that an interpreter would load for a word of it", async () => {
    const commands = {
      "tools/x.js": "node tools/x",
      "tools/x": "node tools/x",
      "tools/dir/index.js": "node --no-warnings tools/dir %f",
      "tools/dir.mjs": "node --no-warnings tools/dir %f",
      "tools/early.js": "node -r ./tools/early tools/x",
      "tools/r.rb": "/usr/bin/env ruby tools/r",
      "pkg/mod.py": "python3 -m pkg.mod",
      "pkg/__init__.py": "python3 -m pkg.mod",
      "installed.py": '"/usr/bin/python3" -m installed',
      "node_modules/.bin/runs": "npx runs %f",
      "tools/run": "bash -c 'tools/run \"$1\"'",
      "tools/top": "$(git rev-parse --show-toplevel)/tools/top",
      "tools/here": '"$PWD"/tools/here',
      "tools/in": "cd tools && sh ./in",
      script: "sh script",
    };
    const plain = ["tools/y.js", "tools/dir/other.js", "x.js", "pkg/other.py", "node_modules/.bin/other", "cat.js"];
    const there = Object.keys(commands).filter((path) => !/dir.mjs|installed|runs|tools\/x$/.test(path));
    await using place = makePlace(Object.fromEntries([...there, ...plain].map((path) => [path, "mine\n"])));
    runGit(place.project, place.env, ["init", "-q"]);
    for (const [index, command] of [...Object.values(commands), "sh -c 'cat %f'"].entries())
      runGit(place.project, place.env, ["config", `filter.f${index}.clean`, command]);
    const lay = (path: string) => `mkdir -p ${dirname(path)}; echo changed > ${path}`;
    const ran = await run(place, [...Object.keys(commands), ...plain].map(lay).join("; "));
    const changed = [...Object.keys(commands), ...plain].filter((path) => {
      const file = join(place.project, path);
      return existsSync(file) && readFileSync(file, "utf8") !== "mine\n";
    });
    expect(changed).toEqual(plain);
    expect(there.filter((path) => !existsSync(join(place.project, path)))).toEqual([]);
    expect(notices(ran)).toHaveLength(Object.keys(commands).length);
  });

  test("what a hook or the repository around the project leads to stays as it is", async () => {
    await using place = makePlace({
      "scripts/pre-commit": "mine\n",
      "app/.githooks/_/h": "mine\n",
      "app/clean.sh": "mine\n",
    });
    runGit(place.project, place.env, ["init", "-q"]);
    runGit(place.project, place.env, ["config", "core.hooksPath", "app/.githooks/_"]);
    runGit(place.project, place.env, ["config", "filter.x.clean", "sh app/clean.sh"]);
    symlinkSync("../../scripts/pre-commit", join(place.project, ".git/hooks/pre-commit"));
    const app = { ...place, project: join(place.project, "app") };
    for (const [where, path] of [
      [place, "scripts/pre-commit"],
      [app, ".githooks/_/h"],
      [app, "clean.sh"],
    ] as const) {
      const ran = await run(where, `echo changed > ${path}; echo changed > plain`);
      expect(readFileSync(join(where.project, path), "utf8")).toBe("mine\n");
      expect(readFileSync(join(where.project, "plain"), "utf8")).toBe("changed\n");
      expect(notices(ran)).toEqual([expect.stringContaining("A command changed protected files")]);
    }
  });

  test("a new repository in which the user's own configuration would run something is quarantined", async () => {
    // Elsewhere than in /tmp, where git could not read its configuration without mounts.
    await using place = makePlace({}, "/var/tmp");
    writeFileSync(join(place.home, ".gitconfig"), "[core]\n\thooksPath = .githooks\n");
    const ran = await run(
      place,
      "git init -q plain; git init -q sub; mkdir sub/.githooks; echo > sub/.githooks/pre-commit",
    );
    expect(notices(ran).sort()).toEqual([
      expect.stringContaining('A command made "plain/.git"'),
      expect.stringMatching(/^Quarantined "sub\/\.git".*your own configuration of git names/),
    ]);
  });

  test("a directory or symlink put on the way to what is protected leads git nowhere", async () => {
    const files = { "hooks/own/pre-commit": "mine\n", "tools/clean": "mine\n", "missing/other": "" };
    const moves = [
      ["hooks/own/pre-commit", "mv hooks h2; ln -s h2 hooks; echo evil > h2/own/pre-commit"],
      ["hooks/own/pre-commit", "rm -r hooks; mkdir -p h2/own; ln -s h2 hooks; echo evil > h2/own/pre-commit"],
      ["hooks/own/pre-commit", "mv hooks h2; mkdir -p hooks/own; echo evil > hooks/own/pre-commit"],
      ["tools/clean", "mv tools t2; mkdir tools; echo evil > tools/clean"],
      ["missing/deep/program", "mv missing m2; mkdir -p missing/deep; echo evil > missing/deep/program"],
      ["tools/clean", "mv tools t2; ln -s t2 tools; echo evil > t2/clean"],
      ["tools/clean", "rm -r tools; mkdir t2; ln -s t2 tools; echo evil > t2/clean"],
      ["missing/deep/program", "rm -r missing; mkdir -p t2/deep; ln -s t2 missing; echo evil > t2/deep/program"],
      ["in/sub/.git/config", "mv in i2; ln -s i2 in; echo evil >> i2/sub/.git/config"],
    ] as const;
    for (const [path, move] of moves) {
      await using place = makePlace(files);
      for (const each of [".", "in/sub"]) runGit(place.project, place.env, ["init", "-q", each]);
      const programs = { hooksPath: "hooks/own", fsmonitor: "tools/clean", pager: "missing/deep/program" };
      for (const [key, value] of Object.entries(programs))
        runGit(place.project, place.env, ["config", `core.${key}`, value]);
      const ran = await run(place, move);
      const file = join(place.project, path);
      expect(existsSync(file) ? readFileSync(file, "utf8") : "", move).not.toContain("evil");
      const moved = join(place.project, "i2/sub/.git/config");
      expect(existsSync(moved) ? readFileSync(moved, "utf8") : "", move).not.toContain("evil");
      if (name === "landlock" || !path.startsWith("in/")) expect(notices(ran).join(), move).toContain("restored");
      expect(notices(ran).join(), move).not.toContain("could not");
    }
  }, 60_000);

  test("a second name of what leads git somewhere is another repository", async () => {
    await using place = makePlace();
    runGit(place.project, place.env, ["init", "-q"]);
    runGit(place.project, place.env, ["commit", "-q", "--allow-empty", "-m", "one"]);
    runGit(place.project, place.env, ["worktree", "add", "-q", "tree"]);
    runGit(place.project, place.env, ["config", "core.hooksPath", ".githooks"]);
    const ran = await run(place, "mkdir -p x/.githooks; echo > x/.githooks/pre-commit; ln tree/.git x/.git");
    expect(existsSync(join(place.project, "tree/.git"))).toBe(true);
    expect(existsSync(join(place.project, "x/.git"))).toBe(false);
    const told = [
      expect.stringContaining('restored ".git"'),
      expect.stringMatching(/^Quarantined "x\/\.git".*your own configuration of git names/),
    ];
    expect(notices(ran)).toEqual(name === "landlock" ? told : []);
  });

  test("a file that git obeys keeps no second name, by which a later command could change it", async () => {
    await using place = makePlace();
    runGit(place.project, place.env, ["init", "-q"]);
    const ran = await run(place, "ln .git/config second; echo > plain; ln plain third");
    const linksOf = (path: string) => statSync(join(place.project, path)).nlink;
    expect([".git/config", "third"].map(linksOf)).toEqual([1, 2]);
    expect(notices(ran)).toHaveLength(name === "landlock" ? 1 : 0);
  });

  test("what the project's own configuration names is nothing for another work tree of it", async () => {
    await using place = makePlace({ ".githooks/pre-commit": "mine\n" });
    runGit(place.project, place.env, ["init", "-q"]);
    runGit(place.project, place.env, ["config", "core.hooksPath", ".githooks"]);
    const ran = await run(
      place,
      "for each in evil own plain; do mkdir $each; echo gitdir: ../.git > $each/.git; done",
      "cp -r .githooks evil; cp -r .githooks own; echo evil >> evil/.githooks/pre-commit",
    );
    expect(notices(ran).sort()).toEqual([
      ...["evil", "own", "plain"].map((path) => expect.stringContaining(`A command made "${path}/.git"`)),
      expect.stringMatching(/^Quarantined "evil\/\.git".*your own configuration of git names/),
    ]);
  });

  test("a repository that a command moved where koda cannot look is what it was, or judged", async () => {
    await using place = makePlace({ "sub/a": "" });
    runGit(place.project, place.env, ["init", "-q", "sub"]);
    runGit(place.project, place.env, ["config", "-f", "sub/.git/config", "core.hooksPath", ".hooks/own"]);
    const odd = "d=$(printf '\\377'); mkdir $d; mv sub $d; echo '[core] fsmonitor = evil' >> $d/sub/.git/config";
    await run(place, `${odd}; mkdir -p $d/sub/.hooks/own; echo evil > $d/sub/.hooks/own/pre-commit`);
    await run(place, "mkdir new; mv sub new; mkdir -p new/sub/.hooks/own; echo evil > new/sub/.hooks/own/pre-commit");
    const found = Bun.spawnSync(["grep", "-rl", "evil", "."], { cwd: place.project }).stdout.toString();
    const live = found.split("\n").filter((path) => /\.git\/config$|hooks\/own/.test(path));
    expect(live.filter((path) => existsSync(join(place.project, path.replace(/\.(git|hooks)\/.*/, ".git"))))).toEqual(
      [],
    );
  });

  test("what a repository names is kept where a command before moved it", async () => {
    await using place = makePlace({ "sub/bin/x": "mine\n", "sub/a": "" });
    runGit(place.project, place.env, ["init", "-q", "sub"]);
    const set = (key: string, value: string) =>
      runGit(place.project, place.env, ["config", "-f", "sub/.git/config", key, value]);
    set("core.pager", "bin/x");
    set("core.hooksPath", ".hooks/own");
    const ran = await run(place, "mv sub moved", "mkdir -p moved/.hooks/own; echo evil > moved/bin/x; echo > moved/a");
    expect(readFileSync(join(place.project, "moved/bin/x"), "utf8")).toBe("mine\n");
    expect(["a", ".hooks/own"].map((path) => existsSync(join(place.project, "moved", path)))).toEqual([true, false]);
    expect(notices(ran)).toHaveLength(2);
  });

  test("what one run's command changes another does not take for the user's", async () => {
    await using place = makePlace({ hold: "", "tools/clean": "mine\n" });
    runGit(place.project, place.env, ["init", "-q"]);
    runGit(place.project, place.env, ["config", "filter.x.clean", "tools/clean %f"]);
    const guarded = [".git/config", "tools/clean"].map((path) => join(place.project, path));
    const before = guarded.map((path) => readFileSync(path, "utf8"));
    const spoil =
      "while test -e hold; do echo evil >> .git/config; echo evil > tools/clean; touch tried; sleep 0.01; done";
    await using servers = new AsyncDisposableStack();
    const begin = async (command: string) =>
      start(place, servers.use(await startModelServer([call("Bash", { command }), say("Done.")])));
    const first = finished(await begin(`${spoil}; echo first >> order`));
    await until(() => existsSync(join(place.project, "tried")));
    const other = await begin("echo other >> order");
    const second = finished(other);
    // While it waits it looks again and again.
    const looks = new Set<string>();
    await until(() => {
      for (const name of readdirSync(join(place.home, ".local/share/koda")))
        if (name.startsWith("koda-alone-")) looks.add(name);
      return looks.size > 1 || other.exitCode !== null;
    });
    rmSync(join(place.project, "hold"));
    await Promise.all([first, second]);
    expect(guarded.map((path) => readFileSync(path, "utf8"))).toEqual(before);
    expect(readFileSync(join(place.project, "order"), "utf8")).toBe("first\nother\n");
  }, 60_000);

  test("hooks of the user's own templates are the user's in new repositories too", async () => {
    await using place = makePlace({}, "/var/tmp");
    const hook = join(place.home, "template/hooks/pre-commit");
    mkdirSync(dirname(hook), { recursive: true });
    writeFileSync(hook, "#!/bin/sh\n", { mode: 0o755 });
    writeFileSync(join(place.home, ".gitconfig"), "[init]\n\ttemplateDir = ~/template\n");
    const ran = await run(
      place,
      "for each in same other moved; do git init -q $each; done",
      "echo evil >> other/.git/hooks/pre-commit; mv moved/.git/hooks/pre-commit moved/.git/hooks/post-checkout",
    );
    expect(notices(ran).sort()).toEqual([
      ...["moved", "other", "same"].map((name) => expect.stringContaining(`A command made "${name}/.git"`)),
      expect.stringMatching(/^Quarantined "moved\/\.git".*its hook "post-checkout"/),
      expect.stringMatching(/^Quarantined "other\/\.git".*its hook "pre-commit"/),
    ]);
  });

  test("templates of the user's below the project, and programs that are not there yet, stay as they are", async () => {
    await using place = makePlace({ "template/hooks/pre-commit": "mine\n" });
    runGit(place.project, place.env, ["init", "-q"]);
    runGit(place.project, place.env, ["config", "filter.x.clean", "tools/clean %f"]);
    writeFileSync(join(place.home, ".gitconfig"), `[init]\n\ttemplateDir = ${place.project}/template\n`);
    const ran = await run(
      place,
      "echo evil > template/hooks/pre-commit; mkdir tools; echo evil > tools/clean; echo > b",
    );
    expect(readFileSync(join(place.project, "template/hooks/pre-commit"), "utf8")).toBe("mine\n");
    expect(["tools/clean", "b"].map((path) => existsSync(join(place.project, path)))).toEqual([false, true]);
    expect(notices(ran)).toHaveLength(2);
  });

  test("what Mercurial and Jujutsu would run stays as it is, wherever it lies", async () => {
    const files = [".hg/hgrc", "sub/.hg/hgrc", "sub/.jj/repo/config.toml", "sub/hgrc", "sub/repo/config.toml"];
    await using place = makePlace(Object.fromEntries(files.map((path) => [path, "mine\n"])));
    const write = call("Write", { path: "sub/.hg/hgrc", content: "changed\n" });
    const ran = await run(place, files.map((path) => `echo changed > ${path}`).join("; "), write);
    const now = files.map((path) => readFileSync(join(place.project, path), "utf8").trim());
    expect(now).toEqual(["mine", "mine", "mine", "changed", "changed"]);
    expect(outcomes(ran)).toEqual([true, false]);
    expect(notices(ran)).toHaveLength(name === "landlock" ? 3 : 0);
  });

  test("new repositories of Mercurial and Jujutsu are judged like those of git", async () => {
    const harmless = [
      "mkdir -p one/.hg/store; echo > one/.hg/requires",
      "printf '# mine\\n[paths]\\ndefault = https://a@hg.example.com/x\\n[ui]\\n' > one/.hg/hgrc",
      "mkdir -p two/.jj/repo/store two/.jj/working_copy; echo '/*' > two/.jj/.gitignore",
      `printf '[revset-aliases]\\n"trunk()" = "main@origin"\\n' > two/.jj/repo/config.toml`,
      "mkdir -p three/.jj/repo/store; git init -q --bare three/.jj/repo/store/git",
    ];
    const traps = {
      "a/.hg": "mkdir -p a/.hg; printf '[hooks]\\npre-status = evil\\n' > a/.hg/hgrc",
      "b/.hg": "mkdir -p b/.hg; printf '[paths]\\n%%include ../evil\\n' > b/.hg/hgrc",
      "c/.hg": "mkdir -p c/.hg; printf '[ui]\\nssh = /evil\\n' > c/.hg/hgrc",
      "d/.hg": "mkdir -p d/.hg; echo ../../other > d/.hg/sharedpath",
      "e/.hg": "mkdir -p e/dir; ln -s dir e/.hg; printf '[hooks]\\npre-status = evil\\n' > e/dir/hgrc",
      "f/.hg": "mkdir -p f/.hg; printf '[paths]\\ndefault = ssh://-oProxyCommand=evil/x\\n' > f/.hg/hgrc",
      "g/.hg": "mkdir -p g/.hg; printf '# a\\r[hooks]\\rpre-status = evil\\n' > g/.hg/hgrc",
      "h/.jj": "mkdir -p h/.jj/repo; printf '[ui]\\npager = \"evil\"\\n' > h/.jj/repo/config.toml",
      "i/.jj": "mkdir i/.jj -p; echo ../../other > i/.jj/repo",
      "j/.jj": "git init -q --bare j/.jj/repo/store/git; git -C j/.jj/repo/store/git config core.sshCommand evil",
    };
    await using place = makePlace();
    const ran = await run(place, [...harmless, ...Object.values(traps)].join("\n"));
    expect(notices(ran).sort()).toEqual([
      ...["one/.hg", "three/.jj", "two/.jj"].map((path) => expect.stringContaining(`A command made "${path}"`)),
      ...Object.keys(traps).map((path) => expect.stringContaining(`Quarantined "${path}"`)),
    ]);
    const isLeft = (path: string) => existsSync(join(place.project, path));
    expect(Object.keys(traps).filter(isLeft)).toEqual([]);
    expect(["one/.hg/hgrc", "two/.jj/repo/config.toml", "three/.jj/repo/store/git/config"].every(isLeft)).toBe(true);
  });

  test("a protected directory that is not called .git is closed to file tools too", async () => {
    await using place = makePlace({ "plain/config": "mine\n" });
    runGit(place.project, place.env, ["init", "-q", "--bare", "store"]);
    const before = readFileSync(join(place.project, "store/config"), "utf8");
    const tools = (path: string) => [
      call("Read", { path }),
      call("Write", { path, content: "changed" }),
      call("Delete", { path }),
    ];
    const ran = await run(place, "true", ...tools("store/config"), ...tools("plain/config"));
    expect(outcomes(ran)).toEqual([true, true, false, false, true, true, true]);
    expect(readFileSync(join(place.project, "store/config"), "utf8")).toBe(before);
    expect(existsSync(join(place.project, "plain/config"))).toBe(false);
  });

  test("what a killed run left unjudged is not taken for the user's own", async () => {
    await using place = makePlace();
    const lay = (path: string) => {
      mkdirSync(join(place.project, path), { recursive: true });
      writeFileSync(join(place.project, path, "config"), "[core]\n\tpager = less\n");
    };
    lay("mine/.git");
    await using server = await startModelServer([call("Bash", { command: "echo > begun; exec sleep 60" })]);
    const child = start(place, server);
    await until(() => existsSync(join(place.project, "begun")));
    child.kill("SIGKILL");
    await child.exited;
    lay("left/.git");
    const inside = { ...place, project: join(place.project, "left") };
    const ran = await run(inside, "true");
    expect(notices(ran)).toEqual([expect.stringContaining('Quarantined ".git"')]);
    lay("left/.git");
    expect(notices(await run(place, "true"))).toEqual([expect.stringContaining('Quarantined "left/.git"')]);
    lay("later/.git");
    expect(notices(await run(place, "true"))).toEqual([]);
  });
});

test("second names that a killed run left lead nowhere, and nothing is changed by them", async () => {
  await using place = makePlace({ "tools/clean": "mine\n", "plain/a": "mine\n" });
  for (const args of [
    ["init", "-q"],
    ["config", "filter.x.clean", "tools/clean"],
    ["commit", "-q", "--allow-empty", "-m", "one"],
    ["worktree", "add", "-q", "tree"],
  ])
    runGit(place.project, place.env, args);
  const guarded = [".git/config", "tools/clean"].map((path) => join(place.project, path));
  const before = guarded.map((path) => readFileSync(path, "utf8"));
  const links = "mkdir x; ln tree/.git x/.git; ln .git/config one; ln tools/clean two; ln plain/a three";
  await using server = await startModelServer([call("Bash", { command: `${links}; echo > begun; exec sleep 60` })]);
  const inDocker = [programWithout(asInDocker, dirname(place.project)), binary, "exec", ...using(server), "hi"];
  const child = spawnIn(place, inDocker);
  await until(() => existsSync(join(place.project, "begun")));
  child.kill("SIGKILL");
  await child.exited;
  expect(guarded.map((path) => statSync(path).nlink)).toEqual([2, 2]);

  const write = call("Bash", { command: "for each in one two three; do echo changed > $each; done" });
  await using next = await startModelServer([write, say("Done.")]);
  const { stdout } = await finished(spawnIn(place, [binary, "exec", "--json", ...using(next), "hi"]));
  expect(guarded.map((path) => readFileSync(path, "utf8"))).toEqual(before);
  expect(readFileSync(join(place.project, "plain/a"), "utf8")).toBe("changed\n");
  expect(stdout).toContain("A command changed protected files in");
  expect(stdout).toContain('A command made \\"x/.git\\", a repository');
});
