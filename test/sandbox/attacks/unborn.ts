import { type Attempt, type Table } from "../../support/attempts.ts";

const repository = ["project/.git"];
const settings = ["project/.koda"];
const program = "printf '#!/bin/sh\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit";

/** Each puts something that git or koda would obey where there was nothing before. */
const ways: readonly [name: string, run: string, changes: readonly string[]][] = [
  ["a hook in it", `mkdir -p .git/hooks && ${program}`, repository],
  ["a file that says where it is", "mkdir fake && echo x > fake/config && echo gitdir: fake > .git", repository],
  ["a link to one that was prepared", "mkdir fake && echo x > fake/config && ln -snT fake .git", repository],
  ["moving one that was prepared there", "mkdir fake && echo x > fake/config && mv -T fake .git", repository],
  ["git itself", "git init -q . && git config core.fsmonitor ./evil", repository],
  ["copying one there", "mkdir -p fake/.git && echo x > fake/.git/config && cp -r fake/.git .", repository],
  ["an archive", "mkdir -p fake/.git && echo x > fake/.git/config && tar -C fake -cf - .git | tar -xf -", repository],
  ["a name in other letters that is the same", "mkdir ./src/../.git && echo x > .git//config", repository],
  ["settings of koda's", "mkdir -p .koda && echo '{}' > .koda/settings.json", settings],
  ["settings that were prepared", "mkdir fake && echo '{}' > fake/settings.json && mv -T fake .koda", settings],
  ["a link to settings", "mkdir fake && echo '{}' > fake/settings.json && ln -snT fake .koda", settings],
];

export const unborn: Table = {
  about: "repositories that are not there yet",
  ground: { project: "nothing" },
  attempts: [
    ...ways.map(([name, run, changes]): Attempt => ({
      that: `nothing that git or koda would obey stays after ${name}`,
      run: `( rm -rf fake; ${run} ) 2>&1 && echo made || exit 1`,
      confined: { says: /made$/ },
      unconfined: { says: /made$/, changes },
    })),
    {
      that: "a harmless one stays",
      run: "git init -q . && echo made",
      confined: { says: /^made$/, changes: repository },
      unconfined: { says: /^made$/, changes: repository },
    },
  ],
};
