import { describe, expect, test } from "bun:test";
import { existsSync, linkSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judgeRepository } from "../../../lib/trust/repositories/judge.ts";
import { makePlace } from "../../support/place.ts";
import { runGit } from "../../support/worktree.ts";
import { directory, makeRepository, runAsUser, writeFiles, type Files } from "./repository.ts";

/** What is said of a repository with these files in its git directory. */
async function judged(files: Files): Promise<string | undefined> {
  await using place = makeRepository(files);
  return judgeRepository(place.gitDirectory, { roots: [place.project] });
}

const config = (text: string): Files => ({ config: text });

/** The value of a dangerous setting, and the names of such settings. */
const settings: [value: string, names: string][] = [
  ["/bin/evil", "core.fsmonitor sendemail.smtpServer"],
  ["hooks/evil", "core.fsmonitor"],
  ["elsewhere", "core.hooksPath"],
  ["evil", "core.sshCommand core.gitProxy core.editor core.pager core.askPass core.alternateRefsCommand"],
  ["evil", "sequence.editor pager.log hook.x.command init.templateDir gpg.program gpg.ssh.program"],
  ["evil", "gpg.ssh.defaultKeyCommand credential.https://x.helper diff.external diff.x.command diff.x.textconv"],
  ["evil", "merge.x.driver filter.x.clean filter.x.smudge filter.x.process interactive.diffFilter trailer.x.cmd"],
  ["evil", "trailer.x.command tar.x.command gc.recentObjectsHook uploadpack.packObjectsHook browser.x.cmd"],
  ["evil", "browser.x.path man.x.cmd man.x.path web.browser help.browser instaweb.httpd difftool.x.cmd"],
  ["evil", "difftool.x.path mergetool.x.cmd mergetool.x.path guitool.x.cmd imap.tunnel svn.authorsProg"],
  ["evil", "remote.o.uploadpack remote.o.receivepack remote.o.vcs remote.o.proxy lfs.customtransfer.x.path"],
  ["evil", "lfs.customtransfer.x.args lfs.extension.x.clean lfs.extension.x.smudge lfs.standalonetransferagent"],
  ["evil", "delta.pager tig.editor secrets.providers annex.freezecontent-command"],
  ["/", "core.worktree"],
  ["../../..", "core.worktree"],
  ["false", "core.protectHFS http.https://x.sslVerify"],
  ["0", "core.protectNTFS"],
  ["!evil", "alias.st credential.helper submodule.x.update"],
  ["grep -Oevil x", "alias.st"],
  ["more", "include.path includeIf.gitdir:/.path"],
  ["ext::evil", "submodule.x.url remote.o.pushurl remote.pushDefault branch.main.remote branch.main.pushRemote"],
  ["../../evil", "pull.twohead pull.octopus diff.tool diff.guitool merge.tool merge.guitool"],
  ["ext::sh -c evil", "remote.o.url"],
  ["ssh://-oProxyCommand=evil/x", "remote.o.url"],
  ["always", "protocol.allow protocol.ext.allow"],
  ["http://evil", "http.proxy"],
  ["/x", "http.sslCAInfo http.sslCAPath http.cookieFile"],
  ["/etc/shadow", "commit.template"],
  ["x", "core.attributesFile core.excludesFile"],
  ["git-lfs filter-process --evil", "filter.lfs.process"],
  ["ssh://git@-oProxyCommand=evil/x", "remote.o.url"],
  ["none evil", "submodule.x.update"],
  ["evil", "gitflow.path.hooks"],
  ["reftable:///x", "extensions.refStorage"],
  ["setting", "some.future"],
];
const dangerous = settings.flatMap(([value, names]) =>
  names.split(" ").map((name) => [textOf(name, value), name] as const),
);

/** The setting in a configuration: what stands between the first dot and the last is its subsection. */
function textOf(name: string, value: string): string {
  const [, section, subsection, key] = /^(\w+)(?:\.(.*))?\.(.*)$/.exec(name) ?? [];
  return `[${section}${subsection === undefined ? "" : ` "${subsection}"`}]\n${key} = ${value}`;
}

const others: [text: string, named: string][] = [
  ['[url "ext:"]\ninsteadOf = X', "url.ext:.insteadof"],
  ['[url "ext::evil "]\ninsteadOf = https://', "url.ext::evil .insteadof"],
  ['[url "ext::evil "]\npushInsteadOf = https://', "url.ext::evil .pushinsteadof"],
  ['[remote "o"]\nskipFetchAll = true\nurl = x://evil/x', "remote.o.skipfetchall"],
];

test.each([...dangerous, ...others])("%j is dangerous", async (text, named) => {
  expect(await judged(config(text))).toStartWith(`its config sets ${named.toLowerCase()}`);
  // In a work tree's own configuration as well.
  expect(await judged({ "config.worktree": text })).toContain(`sets ${named.toLowerCase()}`);
});

/** However it is written: the same setting, as git would read it. */
const spellings: string[] = [
  "[core] fsmonitor = evil",
  "[CORE]\n\tFsMonitor=evil",
  "\ufeff[core]\nfsmonitor=evil",
  "[core]\r\nfsmonitor = evil\r\n",
  "[core] ; a comment\n # another\n fsmonitor = evil # and one more",
  "[core]\nbare = false # \\\nfsmonitor = evil",
  "[core]\nbare = fal\\\nse\nfsmonitor = evil",
  '[core]\nquotepath = "a ; b"\nfsmonitor = evil',
  '[core]\nfsmonitor = "evil"',
  "[core]\nfsmonitor = ev\\\nil",
  "[core]\nfsmonitor =\\\nevil",
  '[core]\nfsmonitor = "\\"evil\\""',
  "[core.]\nfsmonitor = evil",
  "[user]\nname = z\n[core]\nfsmonitor = evil",
  "[core]\nbare\nfsmonitor = evil",
  "[core]fsmonitor=evil",
  "[core]\nfsmonitor = true evil",
];

test.each(spellings)("%j sets it, however it is written", async (text) => {
  expect(await judged(config(text))).toMatch(/^its config sets core\.fsmonitor to a value/);
});

const spelledFilters = [
  '[filter "a.b"]\nclean = x',
  "[filter.a]\nclean = x",
  '[filter "a\\"]"]\nclean = x',
  '[filter   "]"]\nclean=x',
];

test.each(spelledFilters)("%j has a subsection", async (text) => {
  expect(await judged(config(text))).toMatch(
    /^its config sets filter\..*\.clean to a value that is not known to be harmless$/,
  );
});

/** git dies of most of them; whoever wrote it did not mean well, or we do not know what it means. */
const incomprehensible: string[] = [
  "fsmonitor = evil",
  "[core\nfsmonitor = evil",
  "[]\nfsmonitor = evil",
  "[core]\nfsmonitor evil",
  "[core]\n= evil",
  '[core]\nfsmonitor = "evil',
  "[core]\nx = \\q",
  '[core "x]\ny = z',
  "[core]\nfsmonitor = false\0evil",
  "[core]\n1x = y",
];

test.each(incomprehensible)("%j is dangerous, since nobody knows what it says", async (text) => {
  expect(await judged(config(text))).toBe("its config cannot be parsed");
});

const harmlessSettings: string[] = [
  "",
  "# nothing\n; at all",
  "[core]\nfsmonitor = true",
  "[core]\nfsmonitor = FALSE",
  "[core]\nfsmonitor",
  "[core]\nfsmonitor =",
  '[core]\nfsmonitor = "false" # not evil',
  "[core]\nworktree = ../sub",
  "[core]\nignorecase = true\nautocrlf = input\nlogallrefupdates",
  "[pager]\nlog = false",
  '[remote "origin"]\nurl = https://example.com/x.git\nfetch = +refs/heads/*:refs/remotes/origin/*',
  '[remote "origin"]\nurl = git@example.com:x/y.git',
  '[remote "origin"]\nurl = ../other',
  '[branch "main"]\nremote = origin\nmerge = refs/heads/main',
  '[submodule "x"]\nactive = true\nurl = https://example.com/x.git\nupdate = rebase',
  '[url "git@example.com:"]\ninsteadOf = https://example.com/',
  "[user]\nname = x\nemail = y\nsigningkey = z\n[commit]\ngpgsign = true",
  '[user "core"]\nname = evil',
  "[lfs]\nrepositoryformatversion = 0",
  "[merge]\ntool = vimdiff",
  '[remote "o"]\npromisor = true\npartialCloneFilter = blob:none\n[extensions]\npartialClone = o',
  '[branch "x"]\nvscode-merge-base = origin/main\n[submodule]\nalternateLocation = superproject',
  '[color]\nui = auto\n[color "diff"]\nold = red\n[column]\nui = never\n[advice]\ndetachedHead = false',
  "[core]\nsparseCheckout = true\nsparseCheckoutCone = true\n[extensions]\nworktreeConfig = true\n[index]\nsparse = true",
  "[extensions]\nobjectFormat = sha256\nrefStorage = reftable",
  '[gitflow "prefix"]\nfeature = feature/\n[gitflow "branch"]\nmaster = main',
  '[remote "origin"]\nurl = ssh://git@example.com:2222/x.git\npushurl = git@example.com:x.git\ntagOpt = --no-tags',
  '[remote "origin"]\nurl = git://example.com/x.git\nmirror = true\nprune = true',
  '[remote "origin"]\nurl = file:///srv/x.git\ngh-resolved = base',
  '[remote "origin"]\nurl = C:/work/x.git',
  '[branch "x"]\nremote = .\nmerge = refs/heads/main\nrebase = true\ndescription = a branch',
  '[submodule]\nactive = .\nrecurse = true\n[submodule "a/b"]\nurl = ../b.git\nbranch = main\nupdate = checkout',
  '[filter "lfs"]\nclean = git-lfs clean -- %f\nsmudge = git-lfs smudge -- %f\nprocess = git-lfs filter-process',
  '[lfs]\nrepositoryformatversion = 0\n[lfs "https://example.com/x.git/info/lfs"]\naccess = basic',
  "[push]\ndefault = current\nautoSetupRemote = true\n[pull]\nrebase = true\n[fetch]\nprune = true",
  "[rebase]\nautoStash = true\n[rerere]\nenabled = true\n[merge]\nconflictStyle = zdiff3\n[diff]\nalgorithm = histogram",
  "[gc]\nauto = 0\n[maintenance]\nauto = false\n[feature]\nmanyFiles = true\n[init]\ndefaultBranch = main",
  "[credential]\nhelper =\n[http]\nsslVerify = true\n[log]\ndate = iso\n[status]\nshowUntrackedFiles = all",
];

test.each(harmlessSettings)("%j does no harm", async (text) => {
  expect(await judged(config(text))).toBeUndefined();
});

/** What else there can be in a git directory. */
const contents: [title: string, files: Files, reason: RegExp][] = [
  ["a hook", { "hooks/pre-commit": { program: "" } }, /^its hook "pre-commit" can be executed/],
  [
    "a hook that is a symlink",
    { "hooks/pre-commit": { link: "/bin/true" } },
    /^"hooks\/pre-commit" in it is a symlink/,
  ],
  ["hooks that are elsewhere", { hooks: { link: "../hooks" } }, /^"hooks" in it is a symlink/],
  ["a config that is elsewhere", { config: { link: "../config" } }, /^"config" in it is a symlink/],
  ["a HEAD that is elsewhere", { HEAD: { link: "../HEAD" } }, /^"HEAD" in it is a symlink/],
  ["a FETCH_HEAD that is elsewhere", { FETCH_HEAD: { link: "/nowhere" } }, /^"FETCH_HEAD" in it is a symlink/],
  ["a message that is elsewhere", { COMMIT_EDITMSG: { link: "/nowhere" } }, /^"COMMIT_EDITMSG" in it/],
  ["a log that is elsewhere", { "logs/HEAD": { link: "/nowhere" } }, /^"logs\/HEAD" in it is a symlink/],
  ["a branch's log that is elsewhere", { "logs/refs/heads/objects/x": { link: "/nowhere" } }, /is a symlink/],
  ["packs that are elsewhere", { "objects/pack": { link: "/nowhere" } }, /^"objects\/pack" in it is a symlink/],
  [
    "a commondir that is outside",
    { commondir: "/\n" },
    /^its "commondir" cannot be followed: it points to "\/", outside/,
  ],
  ["a commondir that is missing", { commondir: "../none\n" }, /which does not exist$/],
  ["a commondir that is no path", { commondir: "a\nb\n" }, /^git could not parse its "commondir"/],
  ["a commondir that is a directory", { commondir: directory }, /^it cannot be read/],
  ["a gitdir that is outside", { gitdir: "/etc/.git\n" }, /^its "gitdir" cannot be followed: it points to "\/etc/],
  ["a config that is a directory", { config: directory }, /^it cannot be read/],
  ["a config without end", config("# x\n".repeat(300_000)), /^it cannot be read: "config" in it is larger than 1 MB$/],
  ["hooks that are a file", { hooks: "" }, /^it cannot be read/],
  ["objects of others", { "objects/info/alternates": "# ok\n/etc\n" }, /^it takes objects from "\/etc"/],
  ["objects of who knows whom", { "objects/info/alternates": '"../x"\n' }, /^it takes objects from/],
  ["a rebase that runs", { "rebase-merge/git-rebase-todo": "pick a\nexec evil\n" }, /has an "exec" step/],
  ["a rebase that runs, in short", { "rebase-merge/git-rebase-todo": " x evil\n" }, /has an "exec" step/],
  ["another that does", { "rebase-apply/git-rebase-todo": "exec evil\n" }, /has an "exec" step/],
  ["a strategy that is a path", { "rebase-merge/strategy": "../../evil\n" }, /names a program/],
  ["options with a path", { "sequencer/opts": "[options]\nstrategy = ../x\n" }, /names a program/],
  ["old remotes", { "remotes/origin": "URL: ext::evil\n" }, /^it has remotes in "remotes"/],
  ["an entry that git has no name for", { "annex/objects/x": "" }, /^"annex" in it is not known to be harmless$/],
  ["a program in it", { evil: { program: "" } }, /^"evil" in it is not known to be harmless$/],
  ["a repository in it", { "x/.git/config": "" }, /^"x" in it is not known to be harmless$/],
  ["a directory in place of a file", { "ORIG_HEAD/x": "" }, /^"ORIG_HEAD" in it is not known/],
  ["older remotes", { "branches/origin": "ext::evil\n" }, /^it has remotes in "branches"/],
  [
    "a submodule",
    { "modules/x/HEAD": "", "modules/x/config": "[core]\npager=x" },
    /^in "modules\/x" of it: its config sets/,
  ],
  [
    "a submodule with slashes in its name",
    { "modules/a/b/HEAD": "", "modules/a/b/hooks/pre-push": { program: "" } },
    /^in "modules\/a\/b" of it: its hook "pre-push"/,
  ],
  [
    "a submodule's submodule",
    { "modules/a/HEAD": "", "modules/a/modules/b/HEAD": "", "modules/a/modules/b/config": "[alias]\nx=!y" },
    /alias\.x/,
  ],
  ["a submodule that is elsewhere", { "modules/x": { link: "/nowhere" } }, /^"modules\/x" in it is a symlink/],
  ["a submodule without end", { [`modules/${"x/".repeat(40)}HEAD`]: "" }, /without end$/],
  [
    "a work tree",
    { "worktrees/x/HEAD": "", "worktrees/x/commondir": "../..\n", "worktrees/x/config.worktree": "[core]\npager=x" },
    /^in "worktrees\/x" of it: its config sets core.pager/,
  ],
];

test.each(contents)("%s is dangerous", async (_, files, reason) => {
  expect(await judged(files)).toMatch(reason);
});

const harmless: [title: string, files: Files][] = [
  ["nothing more than it needs", {}],
  ["a hook that cannot be executed", { "hooks/pre-commit": "evil" }],
  [
    "what commands leave",
    {
      ORIG_HEAD: "",
      FETCH_HEAD: "",
      MERGE_MSG: "",
      COMMIT_EDITMSG: "",
      BISECT_LOG: "",
      AUTO_MERGE: "",
      index: "",
      "index.lock": "",
      "config.lock": "[core]",
      "config.worktree.lock": "",
      "packed-refs": "",
      shallow: "",
      description: "",
      "gc.log": "",
      [`sharedindex.${"0a".repeat(20)}`]: "",
      "info/sparse-checkout": "/*",
      "info/exclude": "",
      "lfs/objects/aa/x": "",
      "rr-cache/aa/preimage": "",
      "logs/refs/stash": "",
    },
  ],
  ["what git init makes to see if there are symlinks", { tAb1_cD: { link: "testing" }, tAbCdEf: "" }],
  ["samples", { "hooks/pre-commit.sample": { program: "" } }],
  ["an empty directory of remotes", { branches: directory, remotes: directory }],
  ["a rebase that runs nothing", { "rebase-merge/git-rebase-todo": "pick a x\nfixup b exec\n# exec\n" }],
  ["objects of the project", { "objects/info/alternates": "../../other/.git/objects\n" }],
  ["itself as its common directory", { commondir: ".\n" }],
  ["a submodule", { "modules/x/HEAD": "", "modules/x/config": "[core]\nworktree = ../../../x" }],
];

test.each(harmless)("%s does no harm", async (_, files) => {
  expect(await judged(files)).toBeUndefined();
});

describe("a name that is not UTF-8 is never taken for the one that it is read as", () => {
  const odd = Buffer.from([0x64, 0x2f, 0xff]);
  const decoy = `d/${odd.toString().slice(2)}`;
  const pager = "[core]\n\tpager = evil\n";

  /** A repository with the odd name, and beside it a harmless one by the name that it is read as. */
  function makeDecoy() {
    const place = makePlace();
    writeFiles(place.project, { "d/evil/HEAD": "", "d/evil/config": pager, [`${decoy}/HEAD`]: "", "sub/a": "" });
    renameSync(join(place.project, "d/evil"), Buffer.concat([Buffer.from(`${place.project}/`), odd]));
    return place;
  }

  const pointers: [title: string, point: (project: string, to: Buffer) => void][] = [
    [
      "in a .git file",
      (project, to) => writeFileSync(`${project}/sub/.git`, Buffer.concat([Buffer.from("gitdir: ../"), to])),
    ],
    ["in a .git symlink", (project, to) => symlinkSync(Buffer.concat([Buffer.from("../"), to]), `${project}/sub/.git`)],
    [
      "in a commondir",
      (project, to) => {
        writeFiles(project, { "sub/.git/HEAD": "" });
        writeFileSync(`${project}/sub/.git/commondir`, Buffer.concat([Buffer.from("../../"), to]));
      },
    ],
    [
      "in a config",
      (project, to) => {
        writeFiles(project, { "sub/.git/HEAD": "" });
        writeFileSync(
          `${project}/sub/.git/config`,
          Buffer.concat([Buffer.from("[core]\nworktree = ../../"), to, Buffer.from("\n")]),
        );
      },
    ],
  ];
  test.each(pointers)("%s", async (_, point) => {
    await using place = makeDecoy();
    point(place.project, odd);
    expect(judgeRepository(join(place.project, "sub/.git"), { roots: [place.project] })).toMatch(
      /UTF-8|cannot be read/,
    );
  });
  test.each(pointers)("%s, and the same with a name that is", async (_, point) => {
    await using place = makeDecoy();
    writeFiles(place.project, { "d/good/HEAD": "" });
    point(place.project, Buffer.from("d/good"));
    expect(judgeRepository(join(place.project, "sub/.git"), { roots: [place.project] })).toBeUndefined();
  });

  test.each(["logs", "modules"])("in the %s of a repository", async (part) => {
    await using place = makeRepository({ [`${part}/x/HEAD`]: "" });
    expect(judgeRepository(place.gitDirectory, { roots: [place.project] })).toBeUndefined();
    const name = Buffer.concat([Buffer.from(`${place.gitDirectory}/${part}/`), odd.subarray(2)]);
    renameSync(join(place.gitDirectory, part, "x"), name);
    writeFiles(place.gitDirectory, { [`${part}/${odd.toString().slice(2)}/HEAD`]: "" });
    expect(judgeRepository(place.gitDirectory, { roots: [place.project] })).toContain("cannot be read");
  });
});

test("more files than can be looked through are dangerous", async () => {
  await using place = makeRepository({ "refs/x": directory });
  const first = join(place.gitDirectory, "refs/x/first");
  writeFileSync(first, "");
  for (let number = 1; number < 20_001; number++) linkSync(first, join(place.gitDirectory, `refs/x/${number}`));
  expect(judgeRepository(place.gitDirectory, { roots: [place.project] })).toContain("more files than");
}, 30_000);

describe("a .git that leads elsewhere", () => {
  const cases: [title: string, files: Files, reason: RegExp | undefined][] = [
    ["a file to another repository of the project", { "sub/.git": "gitdir: ../good\n" }, undefined],
    ["a file to a dangerous one", { "sub/.git": "gitdir: ../evil\n" }, /core\.pager/],
    ["a file to somewhere outside", { "sub/.git": "gitdir: /etc\n" }, /^it points to "\/etc", outside/],
    ["a file to nothing", { "sub/.git": "gitdir: ../none\n" }, /which does not exist/],
    ["a file that git would not understand", { "sub/.git": "gitdir:../good\n" }, /could not parse/],
    ["an empty file", { "sub/.git": "" }, /could not parse/],
    ["a file with two lines", { "sub/.git": "gitdir: ../good\nevil\n" }, /does not exist|could not parse/],
    ["a symlink to another", { "sub/.git": { link: "../good" } }, undefined],
    ["a symlink to a dangerous one", { "sub/.git": { link: "../evil" } }, /core\.pager/],
    ["a symlink to somewhere outside", { "sub/.git": { link: "/etc" } }, /^it points to "\/etc", outside/],
    ["a symlink to nothing", { "sub/.git": { link: "none" } }, /which does not exist/],
    ["a symlink in a circle", { "sub/.git": { link: ".git" } }, /^it cannot be followed/],
    [
      "a symlink to a file that leads",
      { "sub/.git": { link: "../file" }, file: "gitdir: evil\n" },
      /core\.pager|does not exist/,
    ],
    ["files in a circle", { "sub/.git": "gitdir: ../other/.git\n", "other/.git": "gitdir: ../sub/.git\n" }, undefined],
    ["a commondir to a dangerous one", { "sub/.git/HEAD": "", "sub/.git/commondir": "../../evil\n" }, /core\.pager/],
    ["a commondir to a good one", { "sub/.git/HEAD": "", "sub/.git/commondir": "../../good\n" }, undefined],
    [
      "a chain of files",
      Object.fromEntries(
        [...Array(20).keys()].map((n) => [n === 0 ? "sub/.git" : `${n}`, `gitdir: ${n === 0 ? "../" : ""}${n + 1}\n`]),
      ),
      /without end/,
    ],
  ];

  test.each(cases)("%s", async (_, files, reason) => {
    await using place = makePlace();
    writeFiles(place.project, { "good/HEAD": "", "evil/HEAD": "", "evil/config": "[core]\npager = evil\n", ...files });
    const judgement = judgeRepository(join(place.project, "sub/.git"), { roots: [place.project] });
    if (reason === undefined) expect(judgement).toBeUndefined();
    else expect(judgement).toMatch(reason);
  });

  test("is not judged again where it was there before any command", async () => {
    await using place = makePlace();
    writeFiles(place.project, {
      "sub/.git": "gitdir: ../mine\n",
      "mine/HEAD": "",
      "mine/config": "[core]\npager = mine",
    });
    const trusted = new Set([join(place.project, "mine")]);
    expect(judgeRepository(join(place.project, "sub/.git"), { roots: [place.project], trusted })).toBeUndefined();
  });
});

describe("what git itself makes does no harm", () => {
  test("init, clone, a work tree, a submodule and a bare repository", async () => {
    await using place = makePlace({ "one/a": "a" });
    const { project, env } = place;
    const git = (cwd: string, ...args: string[]) => runGit(join(project, cwd), env, args);
    git("one", "init", "-q");
    git("one", "add", "a");
    git("one", "commit", "-qm", "a");
    git(".", "clone", "-q", "one", "two");
    git("two", "submodule", "--quiet", "add", join(project, "one"), "part/of");
    git("two", "commit", "-qm", "part");
    git("two", "worktree", "add", "-q", "../three");
    git("three", "submodule", "--quiet", "update", "--init");
    git(".", "init", "-q", "--bare", "four");
    git(".", "clone", "-q", "--shared", "one", "five");
    const made = ["one/.git", "two/.git", "two/part/of/.git", "three/.git", "three/part/of/.git", "four", "five/.git"];
    for (const path of made) {
      expect(existsSync(join(project, path))).toBe(true);
      expect([path, judgeRepository(join(project, path), { roots: [project] })]).toEqual([path, undefined]);
    }
  });
});

/** The table is about something: git does run these. Each leaves a file where the test looks for it. */
describe("what is dangerous really runs", () => {
  type Row = [title: string, files: (evil: string) => Files, commands: readonly (readonly string[])[]];
  const commit = ["commit", "--allow-empty", "-m", "x"];
  const rows: Row[] = [
    ["core.fsmonitor", (evil) => config(`[core]\nfsmonitor = ${evil}`), [["status"]]],
    ["core.hooksPath", () => config("[core]\nhooksPath = evil-hooks"), [commit]],
    ["core.editor", (evil) => config(`[core]\neditor = ${evil}`), [["commit", "--allow-empty"]]],
    [
      "core.sshCommand",
      (evil) => config(`[core]\nsshCommand = ${evil}\n[remote "o"]\nurl = ssh://localhost/x`),
      [["fetch", "o"]],
    ],
    ["alias", (evil) => config(`[alias]\nst = !${evil}`), [["st"]]],
    ["include", () => ({ ...config("[include]\npath = more"), more: "[core]\nfsmonitor = ./evil" }), [["status"]]],
    [
      "filter.clean",
      (evil) => ({ ...config(`[filter "x"]\nclean = ${evil}`), "info/attributes": "* filter=x" }),
      [["add", "file"]],
    ],
    [
      "diff.external",
      (evil) => config(`[diff]\nexternal = ${evil}`),
      [
        ["add", "file"],
        commit,
        ["diff", "HEAD~0", "--", "file"],
        ["diff", "--cached", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"],
      ],
    ],
    ["gpg.program", (evil) => config(`[gpg]\nprogram = ${evil}\n[commit]\ngpgsign = true`), [commit]],
    [
      "credential and url ext",
      (evil) => config(`[protocol "ext"]\nallow = always\n[remote "o"]\nurl = ext::${evil}`),
      [["fetch", "o"]],
    ],
    ["a hook", (evil) => ({ "hooks/pre-commit": { program: `#!/bin/sh\n${evil}\n` } }), [commit]],
    ["commondir", () => ({ commondir: "../common" }), [["status"]]],
  ];

  test.each(rows)("%s", async (_, files, commands) => {
    await using place = makeRepository();
    const evil = join(place.project, "evil");
    const program = { program: `#!/bin/sh\necho ran > ${place.marker}\n` };
    const common: Files = {
      HEAD: "ref: refs/heads/main\n",
      config: "[core]\nfsmonitor = ./evil\n",
      objects: directory,
      refs: directory,
    };
    writeFiles(place.project, { evil: program, file: "x", "evil-hooks/pre-commit": program });
    writeFiles(join(place.project, "common"), common);
    writeFiles(place.gitDirectory, files(evil));
    expect(judgeRepository(place.gitDirectory, { roots: [place.project] })).toBeString();
    for (const command of commands) runAsUser(place.project, place, command);
    expect(existsSync(place.marker)).toBe(true);
  });

  test("a step of a rebase", async () => {
    await using place = makeRepository();
    for (const message of ["one", "two"]) runAsUser(place.project, place, ["commit", "--allow-empty", "-m", message]);
    runAsUser(place.project, place, ["rebase", "--exec", "false", "HEAD~1"]);
    writeFileSync(join(place.gitDirectory, "rebase-merge/git-rebase-todo"), `exec touch ${place.marker}\n`);
    expect(judgeRepository(place.gitDirectory, { roots: [place.project] })).toContain('"exec" step');
    runAsUser(place.project, place, ["rebase", "--continue"]);
    expect(existsSync(place.marker)).toBe(true);
  });

  test("and a log that is a symlink is written through", async () => {
    await using place = makeRepository({ "logs/HEAD": { link: "../../outside" } });
    writeFileSync(join(place.project, "outside"), "");
    runAsUser(place.project, place, ["commit", "--allow-empty", "-m", "words"]);
    expect(readFileSync(join(place.project, "outside"), "utf8")).toContain("words");
  });
});
