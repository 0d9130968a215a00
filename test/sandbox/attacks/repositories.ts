import { type Attempt, python, type Table } from "../../support/attempts.ts";

/** Each would make the user's next git command run something, or see something else than what is there. */
const writes: readonly [what: string, run: string, changes: readonly string[]][] = [
  ["a hook", "echo x > .git/hooks/post-checkout", [".git/hooks/post-checkout"]],
  ["a hook in another's place", "rm -rf .git/hooks; mkdir .git/hooks; echo x > .git/hooks/h", [".git/hooks/h"]],
  ["a monitor", "git config core.fsmonitor ./evil", [".git/config"]],
  ["another place for hooks", "printf '[core]\\nhooksPath=x\\n' >> .git/config", [".git/config"]],
  ["a configuration for worktrees", "echo x > .git/config.worktree", [".git/config.worktree"]],
  [
    "another repository's objects",
    "mkdir -p .git/objects/info; echo ../../x > .git/objects/info/alternates",
    [".git/objects/info/alternates"],
  ],
  ["another head", "echo ref: refs/heads/evil > .git/HEAD", [".git/HEAD"]],
  ["attributes", "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes", [".git/info"]],
  ["a lock", "touch .git/index.lock", [".git/index.lock"]],
  ["a commit", "git -c user.name=a -c user.email=a@example.test commit -q --allow-empty -m x", [".git/logs/HEAD"]],
  ["a worktree's other home", "echo /x > .git/worktrees/tree/commondir", [".git/worktrees/tree/commondir"]],
  ["nothing at all", "rm -rf .git", [".git"]],
  ["another repository", "mkdir other && mv .git other/git", [".git"]],
  ["a link in its place", "mkdir other; mv .git other/was; ln -s other .git", [".git"]],
  ["another settings file", "echo '{}' > .koda/other.json", [".koda/other.json"]],
  ["no settings", "rm -rf .koda", [".koda"]],
  ["other settings in their place", "rm -rf .koda; mkdir k && mv -T k .koda", [".koda/settings.json"]],
  ["a monitor, in a repository below", "git -C nested config core.fsmonitor ./evil", ["nested/.git/config"]],
  ["a hook, in a repository below", "echo x > nested/.git/hooks/h", ["nested/.git/hooks/h"]],
  ["a hook, in a bare repository", "mkdir -p bare.git/hooks; echo x > bare.git/hooks/h", ["bare.git/hooks"]],
  ["a configuration, in a bare repository", "git -C bare.git config a.b c", ["bare.git/config"]],
  ["another place, in a repository that is a file", "echo gitdir: ../x > linked/.git", ["linked/.git"]],
  [
    "a hook, where such a file leads",
    "mkdir -p store/linked.git/hooks; echo x > store/linked.git/hooks/h",
    ["store/linked.git/hooks"],
  ],
  ["no such file", "rm linked/.git", ["linked/.git"]],
];

/** All else is put back. */
const leftByGuards: Record<string, readonly string[]> = {
  "a lock": ["project/.git/index.lock"],
  "nothing at all": ["project/.git/objects/pack"],
};

const guarded = /\.git, \.koda .* are not held/;
const refusal =
  /Read-only file system|Device or resource busy|read-only|Invalid cross-device link|inter-device move failed|Unable to create/;

const everyWrite: readonly Attempt[] = writes.map(([what, run, changes]) => {
  const below = changes.map((path) => `project/${path}`);
  return {
    that: `git is not given ${what}`,
    run: `( ${run} ) 2>&1 && echo given || exit 1`,
    confined: { says: refusal, exit: 1 },
    in: { landlock: { says: /given$/, ...(what in leftByGuards && { changes: leftByGuards[what] }), gap: guarded } },
    unconfined: { says: /^given$/, changes: below },
  };
});

export const repositories: Table = {
  about: "repositories that are there",
  attempts: [
    ...everyWrite,
    {
      that: "the project is not moved away and made anew",
      run: 'mv "$P" "$P.old"; mv "$(dirname "$P")" "$(dirname "$P").old"; rmdir "$P"',
      confined: {
        says: /^(.*(Read-only file system|resource busy|not permitted|Permission denied|Directory not empty)\n?){3}$/,
        exit: 1,
      },
    },
    {
      that: "a repository below moves with the directory that it is in, and stays as it is",
      run: `mv nested moved && mkdir -p nested/.git && echo x > moved/.git/config; mv moved/.git moved/git`,
      confined: {
        says: /Read-only file system\n.*Device or resource busy$/,
        exit: 1,
        changes: ["project/nested/.git/HEAD"],
      },
      in: { landlock: { says: /^$/, gap: guarded } },
    },
    {
      that: "nothing is exchanged with a repository",
      run: python`
os.mkdir(P + "/fake")
for path in (".git", ".koda", "nested/.git", "bare.git"):
    print(tried(call, "renameat2", -100, (P + "/fake").encode(), -100, (P + "/" + path).encode(), 2), end=" ")`,
      confined: { says: /^(EBUSY ?){4}$/ },
      in: { landlock: { says: /^(done ?){4}$/, gap: guarded } },
    },
    {
      that: "what git does with a link to a repository is done to the repository",
      run: "ln -s .git via && git --git-dir=via config a.b c; echo x > via/hooks/h; echo x > via/../.git/HEAD",
      confined: { says: /^(.*Read-only file system\n?){3}$/, exit: 1 },
      in: { landlock: { says: /^$/, gap: guarded } },
    },
    {
      that: "git says what there is, and harms nothing by it",
      // Without that it would write down what it has learned.
      run: "export GIT_OPTIONAL_LOCKS=0; git status --short -- src && git diff HEAD~1 --stat && git blame -s src/file && git -C nested status --short && git -C bare.git rev-parse --is-bare-repository && git -C tree log --format=%s",
      confined: { says: /src\/file \| 1 \+\n.*\n.*\n.*two\ntrue\ntwo\none$/ },
    },
  ],
};
