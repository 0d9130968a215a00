import { type Attempt, python, type Table } from "../../support/attempts.ts";

/** Each would make the user's editor, agent or shell run something the next time it opens the project. */
const writes: readonly [what: string, run: string, changes: readonly string[]][] = [
  ["a task", "echo x > .vscode/tasks.json", [".vscode/tasks.json"]],
  ["other settings", "echo x >> .vscode/settings.json", [".vscode/settings.json"]],
  ["no settings", "rm -rf .vscode", [".vscode"]],
  ["settings in another place", "mv .vscode src/.vscode", [".vscode"]],
  ["a link in their place", "mkdir other; mv .vscode other/was; ln -s other .vscode", [".vscode"]],
  ["an environment", "echo x > .envrc", [".envrc"]],
  ["an environment that was prepared", "echo x > t; mv -f t .envrc", [".envrc"]],
  ["an environment by a second name", "rm -f t; ln .envrc t && echo x > t", [".envrc"]],
  ["a hook, in a package", "echo x > packages/x/.claude/settings.json", ["packages/x/.claude/settings.json"]],
  ["other instructions", "echo x >> .agents/skills/x/SKILL.md", [".agents/skills/x/SKILL.md"]],
  ["a skill", "mkdir .agents/skills/y && echo x > .agents/skills/y/SKILL.md", [".agents/skills/y"]],
  ["skills in another place", "mv .agents src/.agents", [".agents"]],
  ["no hooks, in a package", "rm -r packages", ["packages/x/.claude"]],
];

const gap = /what other tools run are not held/;
const refusal = /Read-only file system|Device or resource busy|Invalid cross-device link/;

export const toolConfig: Table = {
  about: "what other tools run",
  attempts: [
    ...writes.map(([what, run, changes]): Attempt => ({
      that: `other tools are not given ${what}`,
      run: `( ${run} ) 2>&1 && echo given || exit 1`,
      confined: { says: refusal, exit: 1 },
      in: { landlock: { says: /given$/, gap } },
      unconfined: { says: /^given$/, changes: changes.map((path) => `project/${path}`) },
    })),
    {
      that: "a package moves with what is in it, which stays as it is",
      run: "mv packages moved && echo x > moved/x/.claude/settings.json; mv moved packages",
      confined: { says: /: Read-only file system$/ },
      in: { landlock: { says: /^$/, gap } },
      unconfined: { says: /^$/, changes: ["project/packages/x/.claude/settings.json"] },
    },
    {
      that: "nothing is exchanged with them",
      run: python`
os.mkdir(P + "/fake")
for path in (".vscode", ".envrc", "packages/x/.claude"):
    print(tried(call, "renameat2", -100, (P + "/fake").encode(), -100, (P + "/" + path).encode(), 2), end=" ")`,
      confined: { says: /^(EBUSY ?){3}$/ },
      in: { landlock: { says: /^(done ?){3}$/, gap } },
      unconfined: { says: /^(done ?){3}$/, changes: ["project/.vscode/settings.json", "project/.envrc"] },
    },
  ],
};

const ways: readonly [name: string, run: string, changes: readonly string[]][] = [
  ["writing it", "mkdir .vscode && echo x > .vscode/tasks.json", ["project/.vscode"]],
  ["moving one that was prepared", "mkdir fake && echo x > fake/tasks.json && mv -T fake .vscode", ["project/.vscode"]],
  [
    "a link to one that was prepared",
    "mkdir fake && echo x > fake/tasks.json && ln -snT fake .vscode",
    ["project/.vscode"],
  ],
  ["an archive", "mkdir fake && echo x > fake/.envrc && tar -C fake -cf - .envrc | tar -xf -", ["project/.envrc"]],
  ["a skill", "mkdir -p .agents/skills/y && echo x > .agents/skills/y/SKILL.md", ["project/.agents"]],
  ["copying one", "mkdir fake && echo x > fake/t && cp fake/t .envrc && chmod 0 .envrc", ["project/.envrc"]],
  [
    "a directory that was replaced",
    "mv src old && mkdir src && mkdir src/.vscode && echo x > src/.vscode/t",
    ["project/src/.vscode"],
  ],
];

export const unbornToolConfig: Table = {
  about: "what other tools run that is not there yet",
  ground: { project: "nothing" },
  attempts: [
    ...ways.map(([name, run, changes]): Attempt => ({
      that: `nothing that other tools would run stays after ${name}`,
      run: `( rm -rf fake old; ${run} ) 2>&1 && echo made || exit 1`,
      confined: { says: /made$/ },
      unconfined: { says: /made$/, changes },
    })),
    {
      that: "what runs nothing stays",
      run: "mkdir .vscode && echo '{}' > .vscode/extensions.json && echo made",
      confined: { says: /^made$/, changes: ["project/.vscode/extensions.json"] },
      unconfined: { says: /^made$/, changes: ["project/.vscode/extensions.json"] },
    },
  ],
};
