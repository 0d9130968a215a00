import { type Attempt, type Table } from "../../support/attempts.ts";

const refusal =
  /File exists|Read-only file system|Device or resource busy|cannot overwrite|Permission denied|Is a directory|not empty/;

const repository = ["project/.git"];
const settings = ["project/.koda"];

/** Each puts a repository, or settings of koda's, where there was none before. */
const ways: readonly [name: string, run: string, changes: readonly string[]][] = [
  ["making the directory", "mkdir .git", repository],
  ["making it with what is in it", "mkdir -p .git/hooks", repository],
  ["a file that says where it is", "echo gitdir: x > .git", repository],
  ["a link to one that was prepared", "mkdir fake && ln -snT fake .git", repository],
  ["moving one that was prepared there", "mkdir fake && echo x > fake/config && mv -T fake .git", repository],
  ["git itself", "git init -q .", repository],
  ["copying one there", "mkdir -p fake/.git && echo x > fake/.git/config && cp -r fake/.git .", repository],
  ["an archive", "mkdir -p fake/.git && echo x > fake/.git/config && tar -C fake -cf - .git | tar -xf -", repository],
  ["a name in other letters that is the same", "mkdir ./src/../.git && echo x > .git//config", repository],
  ["settings of koda's", "mkdir -p .koda && echo '{}' > .koda/settings.json", settings],
  ["settings that were prepared", "mkdir fake && echo '{}' > fake/settings.json && mv -T fake .koda", settings],
  ["a link to settings", "mkdir fake && echo '{}' > fake/settings.json && ln -snT fake .koda", settings],
];

/** What a sandbox puts there, so that there is none, is not taken away either. */
const againstStandIns: Record<string, string> = {
  moving: "mv .git away",
  removing: "rmdir .git",
  opening: "chmod 700 .git && echo x > .git/config",
  linking: "ln -sfnT fake .git",
  exchanging: "mv -T fake .git",
};

/** Whoever guards takes away those that are dangerous; these are not. */
const gap = /\.git and \.koda are not held/;

export const unborn: Table = {
  about: "repositories that are not there yet",
  ground: { project: "nothing" },
  attempts: [
    ...ways.map(([name, run, changes]): Attempt => ({
      that: `no repository and no settings come about by ${name}`,
      run: `( rm -rf fake; ${run} ) 2>&1 && echo made || exit 1`,
      confined: { says: refusal, exit: 1 },
      in: { landlock: { says: /made$/, changes: "perhaps", gap } },
      unconfined: { says: /made$/, changes },
    })),
    ...Object.entries(againstStandIns).map(([name, run]): Attempt => ({
      that: `nor by ${name} what stands in its place`,
      run: `( rm -rf fake; mkdir fake; ${run} ) > /dev/null 2>&1; [ -L .git ] || [ -e .git/config ] && echo made || exit 1`,
      confined: { says: /^$/, exit: 1 },
      in: { landlock: { says: /^(made)?$/, exit: name === "linking" ? 0 : 1, changes: "perhaps", gap } },
    })),
  ],
};
