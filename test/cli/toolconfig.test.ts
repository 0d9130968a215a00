import { describe, expect, test } from "bun:test";
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { strongestAndMountless } from "../support/denied.ts";
import { binary, checkLines, type RanExec, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { finished, spawnIn } from "../support/run.ts";
import { until } from "../support/until.ts";
import { runGit } from "../support/worktree.ts";

type Step = string | ReturnType<typeof call> | (() => void);
type Options = { flags?: readonly string[]; backend?: string; prefix?: readonly string[] };

/** Commands and calls, one after another; a function is what the user does before the next one. */
async function exec(place: Place, steps: readonly Step[], { flags = [], prefix = [] }: Options = {}) {
  const pending = [...steps];
  await using server = await startModelServer(() => {
    while (typeof pending[0] === "function") (pending.shift() as () => void)();
    const next = pending.shift();
    if (next === undefined || typeof next === "function") return say("Done.");
    return typeof next === "string" ? call("Bash", { command: next }) : next;
  });
  const ran = await finished(spawnIn(place, [...prefix, binary, "exec", "--json", ...using(server), ...flags, "hi"]));
  return { ...ran, ...checkLines(ran) };
}

const notices = ({ events }: RanExec) =>
  events.flatMap((event) => (event.type === "notice" && event.code === "repository" ? [event.message] : []));
const results = ({ events }: RanExec) => events.flatMap((event) => (event.type === "tool.end" ? [event] : []));

/** One of each kind, at the top, beside a nested repository and in a plain directory. */
const files = {
  ".vscode/settings.json": "mine\n",
  ".envrc": "mine\n",
  ".mcp.json": "mine\n",
  ".claude/hooks/check.sh": "mine\n",
  ".husky/pre-commit": "mine\n",
  ".agents/skills/deploy/SKILL.md": "mine\n",
  "app/.codex/config.toml": "mine\n",
  "packages/x/.cursor/mcp.json": "mine\n",
  "packages/x/.devcontainer.json": "mine\n",
  "a/b/c/my.code-workspace": "mine\n",
};

const kinds =
  /(^|\/)(\.(vscode|agents|claude|husky|codex|cursor)\/.*|\.envrc|\.mcp\.json|\.devcontainer\.json|.*\.code-workspace)$/;

const read = (place: Place, path: string) =>
  existsSync(join(place.project, path)) ? readFileSync(join(place.project, path), "utf8") : "nothing";

describe.each(strongestAndMountless)("in the tier $name", ({ name, prefix }) => {
  const run = async (place: Place, steps: readonly Step[], flags: readonly string[] = []) => {
    const ran = await exec(place, steps, { flags, prefix: prefix(place) });
    expect(ran.events[0]).toMatchObject({ sandbox: { backend: name } });
    return ran;
  };

  const attacks: readonly (readonly [how: string, command: (path: string) => string])[] = [
    ["written to", (path) => `echo evil > ${path}`],
    ["appended to", (path) => `echo evil >> ${path}`],
    ["removed", (path) => `rm -rf ${path}`],
    ["replaced", (path) => `echo evil > t; mv -f t ${path}`],
    ["moved", (path) => `mv ${path} ${path}.old; echo evil > ${path}`],
    ["a link", (path) => `echo evil > t; ln -sf $PWD/t ${path}`],
    ["given a second name", (path) => `ln ${path} t; echo evil >> t`],
    [
      "replaced with its directory",
      (path) => `d=$(dirname ${path}); test $d = . || { mv $d o; mkdir -p $d; echo evil > ${path}; }`,
    ],
  ];

  test.each(attacks)("what other tools run is not %s", async (_, command) => {
    await using place = makePlace(files);
    runGit(place.project, place.env, ["init", "-q"]);
    runGit(place.project, place.env, ["init", "-q", "app"]);
    await run(place, [
      Object.keys(files)
        .map((path) => `( ${command(path)} )`)
        .join("\n"),
    ]);
    // A directory that holds one may be renamed, and the one in it goes with it.
    const left = readdirSync(place.project, { recursive: true, encoding: "utf8" });
    const kept = left.filter((path) => kinds.test(path) && lstatSync(join(place.project, path)).isFile());
    expect(kept.map((path) => read(place, path))).toEqual(Object.keys(files).map(() => "mine\n"));
    for (const path of Object.keys(files).filter((each) => !each.includes("/") || each.startsWith(".")))
      expect([path, read(place, path)]).toEqual([path, "mine\n"]);
  });

  test("with --allow-config it is, and the run says what has changed", async () => {
    await using place = makePlace(files);
    runGit(place.project, place.env, ["init", "-q"]);
    const command = Object.keys(files)
      .map((path) => `echo evil > ${path}`)
      .join("\n");
    const ran = await run(
      place,
      [command, call("Write", { path: ".zed/tasks.json", content: "[]" })],
      ["--allow-config"],
    );
    expect(results(ran).map(({ ok }) => ok)).toEqual([true, true]);
    for (const path of Object.keys(files)) expect(read(place, path)).toBe("evil\n");
    expect(notices(ran)).toEqual([]);
    const changed = [...Object.keys(files), ".zed/tasks.json"].sort();
    expect(ran.end.executable_changes).toEqual(changed.map((path) => ({ path, kind: "config" })));
  });

  test("a command that is refused is told the file, the reason and the flag", async () => {
    await using place = makePlace(files);
    const ran = await run(place, ["echo evil > .vscode/settings.json", "echo evil > .envrc"]);
    for (const [index, path] of [".vscode/settings.json", ".envrc"].entries()) {
      const { summary, hint = "" } = results(ran)[index] ?? {};
      // Without mounts nothing is refused, and all that was done is taken back.
      const told = name === "landlock" ? (notices(ran)[index] ?? "") : hint;
      expect(told, summary).toContain(path.split("/")[0] ?? "");
      expect(told, summary).toContain("--allow-config");
      expect(told.toLowerCase(), summary).toContain("other programs run what");
    }
  });

  test("what appears in a directory of the user's is quarantined, wherever it comes from", async () => {
    await using place = makePlace({ "packages/x/a": "", "samples/vscode/tasks.json": "evil\n" });
    const appearing = [
      "mkdir .vscode; echo evil > .vscode/tasks.json",
      "echo evil > .envrc",
      "mkdir -p packages/x/.claude; echo evil > packages/x/.claude/settings.json",
      "mv samples/vscode samples/.vscode",
      "ln -s packages .devcontainer",
      "mv packages p; mkdir -p packages/x; echo evil > packages/x/.mcp.json",
      "mkdir .VSCODE; echo evil > .VSCODE/tasks.json",
      "mkdir .vscode; touch .vscode/extensions.json .vscode/settings.json",
      "mkdir .vscode; echo evil > .vscode/tasks.json; chmod 0300 .vscode",
    ];
    const ran = await run(place, appearing);
    expect(notices(ran)).toEqual(
      [
        ".vscode",
        ".envrc",
        "packages/x/.claude",
        "samples/.vscode",
        ".devcontainer",
        "packages/x/.mcp.json",
        ".VSCODE",
        ".vscode",
        ".vscode",
      ].map((path) =>
        expect.stringMatching(new RegExp(`^Quarantined "${RegExp.escape(path)}".*other programs.*--allow-config`)),
      ),
    );
    const left = readdirSync(place.project, { recursive: true, encoding: "utf8" });
    expect(left.filter((path) => /\.(vscode|envrc|claude|devcontainer|mcp\.json)/i.test(path))).toEqual([]);
    const quarantine = join(place.home, ".local/share/koda/koda-quarantine");
    expect(readdirSync(quarantine)).toHaveLength(appearing.length);
  });

  test("a checkout changes them only with --allow-config, and then they are listed", async () => {
    await using place = makePlace({ ".vscode/settings.json": "mine\n", "src/a": "one\n" });
    const git = (...args: readonly string[]) => runGit(place.project, place.env, args);
    for (const args of [
      ["init", "-q", "-b", "main"],
      ["add", "."],
      ["commit", "-qm", "one"],
    ])
      git(...args);
    git("checkout", "-qb", "other");
    place.write(".vscode/settings.json", "theirs\n");
    place.write("src/a", "two\n");
    git("commit", "-qam", "two");
    git("checkout", "-q", "main");
    const closed = await run(place, ["git checkout -q other; git branch --show-current"], ["--allow-git"]);
    expect([read(place, ".vscode/settings.json"), read(place, "src/a")]).toEqual(["mine\n", "two\n"]);
    expect(closed.end.executable_changes).toEqual([]);
    git("checkout", "-qf", "main");
    const open = await run(place, ["git checkout -q other"], ["--allow-git", "--allow-config"]);
    expect(read(place, ".vscode/settings.json")).toBe("theirs\n");
    expect(open.end.executable_changes).toEqual([{ path: ".vscode/settings.json", kind: "config" }]);
  });

  test("git's hooks stay protected with --allow-config", async () => {
    await using place = makePlace({ ".husky/_/pre-commit": "mine\n", ".husky/pre-commit": "mine\n" });
    runGit(place.project, place.env, ["init", "-q"]);
    runGit(place.project, place.env, ["config", "core.hooksPath", ".husky/_"]);
    const command = "echo changed > .husky/pre-commit; echo evil > .husky/_/pre-commit; true";
    const ran = await run(place, [command], ["--allow-config"]);
    expect([".husky/pre-commit", ".husky/_/pre-commit"].map((path) => read(place, path))).toEqual([
      "changed\n",
      "mine\n",
    ]);
    expect(notices(ran)).toEqual([expect.stringMatching(/^A command changed protected files in "\.husky\/_": [^(]*$/)]);
    expect(ran.end.executable_changes).toContainEqual({ path: ".husky/pre-commit", kind: "config" });
  });

  test("what comes with a new directory stays, and so does what runs nothing", async () => {
    await using place = makePlace({ "a/b": "" });
    const ran = await run(place, [
      "mkdir -p new/.vscode && echo x > new/.vscode/launch.json",
      "mkdir .vscode && echo '{}' > .vscode/extensions.json",
      "mkdir -p node_modules/y/.vscode node_modules/y/.husky && echo x > node_modules/y/.vscode/settings.json",
      'mkdir -p "$TMPDIR/.vscode" && echo x > "$TMPDIR/.vscode/tasks.json"',
      "cat new/.vscode/launch.json .vscode/extensions.json node_modules/y/.vscode/settings.json $TMPDIR/.vscode/tasks.json",
    ]);
    expect(results(ran).map(({ ok }) => ok)).toEqual([true, true, true, true, true]);
    expect(notices(ran)).toEqual([expect.stringContaining('A command made "new/.vscode" in a new directory')]);
  });

  test("what comes with many new directories is one notice, and each is listed", async () => {
    await using place = makePlace({ a: "" });
    const ran = await run(place, ["for each in 1 2 3; do mkdir -p new/$each/.zed; echo x > new/$each/.zed/a; done"]);
    expect(notices(ran)).toEqual([
      expect.stringMatching(/^A command made "new\/.\/\.zed" and 2 more entries of the kind/),
    ]);
    expect(ran.end.executable_changes.map(({ path }) => path)).toEqual([1, 2, 3].map((each) => `new/${each}/.zed/a`));
  });

  test("a clone keeps all that was committed", async () => {
    await using place = makePlace({ "origin/.vscode/settings.json": "{}", "origin/.husky/pre-commit": "x" });
    for (const args of [
      ["init", "-q"],
      ["add", "."],
      ["commit", "-qm", "one"],
    ])
      runGit(place.project, place.env, ["-C", "origin", ...args]);
    const ran = await run(place, ["git clone -q file://$PWD/origin clone && git -C clone status --short"]);
    expect(results(ran).map(({ ok, summary }) => [ok, summary.includes("clone")])).toEqual([[true, false]]);
    expect(["settings.json"].map((each) => existsSync(join(place.project, "clone/.vscode", each)))).toEqual([true]);
  });

  test("what a protected link leads to stays as it is, and the link too", async () => {
    await using place = makePlace({ "shared/vscode/settings.json": "mine\n", "shared/mcp": "mine\n", "agents.md": "" });
    symlinkSync("shared/vscode", join(place.project, ".vscode"));
    symlinkSync("shared/mcp", join(place.project, ".mcp.json"));
    mkdirSync(join(place.project, ".claude"));
    symlinkSync("../shared/mcp", join(place.project, ".claude/settings.json"));
    symlinkSync("../agents.md", join(place.project, ".claude/CLAUDE.md"));
    const writes = ["shared/vscode/settings.json", "shared/mcp", ".vscode/settings.json", "agents.md"];
    const links = "ln -sfn . .vscode; rm -f .mcp.json; echo evil > .mcp.json";
    await run(place, [`${writes.map((path) => `echo evil > ${path}`).join("; ")}; ${links}; true`]);
    expect(["shared/vscode/settings.json", "shared/mcp", "agents.md"].map((path) => read(place, path))).toEqual([
      "mine\n",
      "mine\n",
      "evil\n",
    ]);
    for (const link of [".vscode", ".mcp.json"])
      expect(lstatSync(join(place.project, link)).isSymbolicLink()).toBe(true);
  });

  test("a file that the user saves between two commands is the user's", async () => {
    await using place = makePlace({ ".envrc": "mine\n", ".vscode/settings.json": "mine\n" });
    const save = () => {
      const draft = place.write("draft", "saved\n");
      renameSync(draft, join(place.project, ".envrc"));
      renameSync(join(place.project, ".vscode"), join(place.home, "old"));
      place.write(".vscode/settings.json", "saved\n");
    };
    const ran = await run(place, ["true", save, "echo evil > .envrc; echo evil > .vscode/settings.json; true"]);
    expect([".envrc", ".vscode/settings.json"].map((path) => read(place, path))).toEqual(["saved\n", "saved\n"]);
    expect(notices(ran)).toHaveLength(name === "landlock" ? 2 : 0);
  });
});

describe("file tools", () => {
  const asked: readonly (readonly [what: string, ...call: Parameters<typeof call>])[] = [
    ["a new file", "Write", { path: ".vscode/tasks.json", content: "x" }],
    ["a file that is there", "Write", { path: ".envrc", content: "x" }],
    ["a part of it", "Edit", { path: ".envrc", edits: [{ old: "mine", new: "x" }] }],
    ["another spelling", "Write", { path: ".Claude/settings.json", content: "x" }],
    ["a way round", "Write", { path: "packages/../packages/x/.mcp.json", content: "x" }],
    ["a link", "Write", { path: "link/settings.json", content: "x" }],
    ["a directory", "Delete", { path: ".claude", recursive: true }],
    ["what a protected link leads to", "Write", { path: ".idea/run.xml", content: "x" }],
  ];

  async function project(): Promise<Place> {
    const place = makePlace({ ".envrc": "mine\n", ".claude/settings.json": "mine\n", "jet/run.xml": "mine\n" });
    symlinkSync(".claude", join(place.project, "link"));
    symlinkSync("jet", join(place.project, ".idea"));
    return place;
  }

  test.each(asked)("do not write %s, and say why", async (_, tool, input) => {
    await using place = await project();
    const ran = await exec(place, [call(tool, input)]);
    const [result] = results(ran);
    expect(result?.ok).toBe(false);
    expect(result?.denied ?? result?.summary).toMatch(
      /"[^"]+" is protected: other programs run what "[^"]+" says \(--allow-config/,
    );
    expect([".envrc", ".claude/settings.json", "jet/run.xml"].map((path) => read(place, path))).toEqual(
      Array(3).fill("mine\n"),
    );
  });

  test.each(asked)("write %s with --allow-config", async (_, tool, input) => {
    await using place = await project();
    const ran = await exec(
      place,
      [
        call("Read", { path: ".envrc" }),
        call("Read", { path: "link/settings.json" }),
        call("Read", { path: ".idea/run.xml" }),
        call(tool, input),
      ],
      { flags: ["--allow-config"] },
    );
    expect(results(ran).at(-1)).toMatchObject({ ok: true });
  });

  test("do not write by a patch", async () => {
    await using place = await project();
    const patch = "*** Begin Patch\n*** Add File: .zed/tasks.json\n+x\n*** Add File: a\n+x\n*** End Patch\n";
    const moving =
      "*** Begin Patch\n*** Update File: jet/run.xml\n*** Move to: .zed/run.xml\n@@\n-mine\n+x\n*** End Patch\n";
    const steps = [call("ApplyPatch", { patch }), call("ApplyPatch", { patch: moving })];
    const ran = await exec(place, steps, { flags: ["--edit", "patch"] });
    expect(
      results(ran).map(({ ok, denied, summary }) => ok || !(denied ?? summary).includes("--allow-config")),
    ).toEqual([false, false]);
    expect([".zed/tasks.json", "a", ".zed/run.xml"].map((path) => read(place, path))).toEqual(Array(3).fill("nothing"));
    const open = await exec(place, [call("ApplyPatch", { patch })], { flags: ["--edit", "patch", "--allow-config"] });
    expect([results(open)[0]?.ok, read(place, ".zed/tasks.json")]).toEqual([true, "x\n"]);
  });

  test("write what runs nothing", async () => {
    await using place = makePlace({ "README.md": "" });
    const paths = [".vscode/extensions.json", ".vscode/a.code-snippets", ".claude/CLAUDE.md", ".cursor/rules/a.mdc"];
    const ran = await exec(
      place,
      [...paths, "node_modules/a/.vscode/tasks.json"].map((path) => call("Write", { path, content: "x" })),
    );
    expect(results(ran).map(({ ok }) => ok)).toEqual([true, true, true, true, true]);
    expect(notices(ran)).toEqual([]);
  });

  test("leave a file with a second name alone by the name that protects it", async () => {
    await using place = makePlace({ ".envrc": "mine\n" });
    linkSync(join(place.project, ".envrc"), join(place.project, "second"));
    const ran = await exec(place, [call("Read", { path: "second" }), call("Write", { path: "second", content: "x" })]);
    expect(results(ran).at(-1)).toMatchObject({ ok: true });
    expect(read(place, ".envrc")).toBe("mine\n");
  });
});

describe("end.executable_changes", () => {
  const changesOf = ({ end }: Awaited<ReturnType<typeof exec>>) =>
    end.executable_changes.map(({ path, kind }) => `${kind} ${path}`);

  test("has the workflows and hooks that a run changed, made or removed, and nothing else", async () => {
    await using place = makePlace({ ".github/workflows/ci.yml": "mine\n", ".gitlab-ci.yml": "mine\n", "src/a": "" });
    for (const args of [
      ["init", "-q"],
      ["add", "."],
      ["commit", "-qm", "one"],
    ])
      runGit(place.project, place.env, args);
    const made = ["app/.circleci/config.yml", "Jenkinsfile", ".githooks/pre-commit", "ci.yml", ".github/CODEOWNERS"];
    const make = made.map((path) => `mkdir -p $(dirname ${path}); echo x > ${path}`).join("; ");
    const patch = join(place.home, "run.patch");
    const ran = await exec(place, [`echo x >> .github/workflows/ci.yml; rm .gitlab-ci.yml; echo x > src/a; ${make}`], {
      flags: ["--patch", patch],
    });
    expect(changesOf(ran)).toEqual([
      "hook .githooks/pre-commit",
      "workflow .github/workflows/ci.yml",
      "workflow .gitlab-ci.yml",
      "workflow Jenkinsfile",
      "workflow app/.circleci/config.yml",
    ]);
    expect(readFileSync(patch, "utf8")).toContain("+++ b/Jenkinsfile");
  });

  test("has files that git ignores, and those of a new directory", async () => {
    await using place = makePlace({ ".gitignore": ".envrc\n.vscode\n", ".envrc": "mine\n" });
    runGit(place.project, place.env, ["init", "-q"]);
    const command =
      "echo x >> .envrc; mkdir -p .vscode new/.vscode; echo x > .vscode/a; echo x > new/.vscode/tasks.json";
    const open = await exec(place, [command], { flags: ["--allow-config"] });
    expect(changesOf(open)).toEqual(["config .envrc", "config .vscode/a", "config new/.vscode/tasks.json"]);
    const closed = await exec(place, ["mkdir -p other/.vscode; echo x > other/.vscode/tasks.json; echo x >> .envrc"]);
    expect(changesOf(closed)).toEqual(["config other/.vscode/tasks.json"]);
  });

  test("is empty where nothing of the kind was changed, or what was is undone", async () => {
    await using place = makePlace({ ".envrc": "mine\n", a: "" });
    expect(changesOf(await exec(place, ["echo x > a; mkdir .zed; echo x > .zed/tasks.json"]))).toEqual([]);
    expect(changesOf(await exec(place, []))).toEqual([]);
  });
});

test("what a killed run left is quarantined by the next one", async () => {
  await using place = makePlace({ "src/a": "" });
  await using server = await startModelServer([call("Bash", { command: "echo > begun; exec sleep 60" })]);
  const child = spawnIn(place, [binary, "exec", "--json", ...using(server), "hi"]);
  await until(() => existsSync(join(place.project, "begun")));
  child.kill("SIGKILL");
  await child.exited;
  place.write("src/.vscode/tasks.json", "evil\n");
  const ran = await exec(place, ["true"]);
  expect(notices(ran)).toEqual([expect.stringContaining('Quarantined "src/.vscode"')]);
  place.write("src/.vscode/tasks.json", "mine\n");
  expect(notices(await exec(place, ["true"]))).toEqual([]);
});

test("a project's own configuration cannot open what other tools run", async () => {
  await using place = makePlace({ ".koda/config.json": '{ "sandbox": { "allow_config": true } }', ".envrc": "mine\n" });
  const ran = await exec(place, ["echo evil > .envrc"]);
  expect(ran.events[0]).toMatchObject({ skipped: [".koda/config.json: sandbox.allow_config"] });
  expect(read(place, ".envrc")).toBe("mine\n");
});

test("the user's own configuration opens it for good", async () => {
  await using place = makePlace({ ".envrc": "mine\n" });
  mkdirSync(join(place.home, ".config/koda"), { recursive: true });
  writeFileSync(join(place.home, ".config/koda/config.json"), '{ "sandbox": { "allow_config": true } }');
  await exec(place, ["echo changed > .envrc"]);
  expect(read(place, ".envrc")).toBe("changed\n");
});
