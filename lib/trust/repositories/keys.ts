import { follow } from "../../git/places.ts";
import type { GitSetting } from "./config.ts";
import { isInside } from "./pointers.ts";

/** The configuration that a setting stands in: relative paths are relative to its git directory. */
type ConfigPlace = { gitDirectory: string; roots: readonly string[] };

/** Why a setting is dangerous, if it is, as a clause about the repository that it stands in. */
export function whySettingDangerous(setting: GitSetting, place: ConfigPlace): string | undefined {
  const { section, subsection, variable } = setting;
  const rows = [...(table.get(`${section}.${variable}`) ?? []), ...(table.get(`${section}.*`) ?? [])];
  const row = rows.find(([, , isDangerous = always]) => isDangerous(setting, place));
  if (row === undefined) return undefined;
  const name = [section, subsection, variable].filter((part) => part !== "").join(".");
  return `its config sets ${JSON.stringify(name).slice(1, -1)}, ${row[1]}`;
}

type Row = [
  /** `section.variable`, in whatever subsection; `*` is any variable. */
  key: string,
  /** A clause that ends the sentence about it. */
  consequence: string,
  isDangerous?: (setting: GitSetting, place: ConfigPlace) => boolean,
];

const always = () => true;
const unlessBoolean = ({ value }: GitSetting) => value !== true && !/^(|true|yes|on|false|no|off|[01])$/i.test(value);
const ifOff = ({ value }: GitSetting) => value !== true && !/^(true|yes|on|1)$/i.test(value);
const ifCommand = ({ value }: GitSetting) => value !== true && value.trimStart().startsWith("!");
const ifPath = ({ value }: GitSetting) => value !== true && value.includes("/");

/** `ext::` runs what follows it and `name::` a program by that name; a host that begins with a dash is an option. */
const isRunning = (url: string) => /^[\w.+-]*::|^-|:\/\/-/.test(url.trim());
const ifRunning = ({ value }: GitSetting) => value !== true && isRunning(value);

const isElsewhere = ({ value }: GitSetting, { gitDirectory, roots }: ConfigPlace) => {
  if (value === true) return true;
  const { real, fault } = follow(gitDirectory, value);
  return fault !== undefined || !isInside(real, roots);
};

/**
 * Settings by which git, or a program that is used with it, would run something, follow something or connect
 * somewhere. Those of programs beside git stand here as far as they are in wide use.
 */
const rows: readonly Row[] = [
  ["core.fsmonitor", "which git status would run", unlessBoolean],
  ["core.hookspath", "where git would look for hooks to run"],
  ["core.sshcommand", "which git fetch would run"],
  ["core.gitproxy", "which git fetch would run"],
  ["core.editor", "which git commit would run"],
  ["core.pager", "which git log would run"],
  ["core.askpass", "which git would run to ask for a password"],
  ["core.alternaterefscommand", "which git fetch would run"],
  ["core.worktree", "so git would change files outside the writable directories", isElsewhere],
  ["core.protecthfs", "so git would no longer refuse names that mean .git", ifOff],
  ["core.protectntfs", "so git would no longer refuse names that mean .git", ifOff],
  ["sequence.editor", "which git rebase would run"],
  ["pager.*", "which git would run", unlessBoolean],
  ["alias.*", "which could run anything"],
  ["include.*", "so git would read settings from another file"],
  ["includeif.*", "so git would read settings from another file"],
  ["hook.*", "which git would run"],
  ["init.templatedir", "from where git would copy hooks"],

  ["gpg.program", "which git would run for signatures"],
  ["gpg.defaultkeycommand", "which git would run for signatures"],
  ["credential.helper", "which git would run and tell passwords"],
  ["diff.external", "which git diff would run"],
  ["diff.command", "which git diff would run"],
  ["diff.textconv", "which git diff would run"],
  ["merge.driver", "which git merge would run"],
  ["filter.clean", "which git status would run"],
  ["filter.smudge", "which git checkout would run"],
  ["filter.process", "which git status would run"],
  ["interactive.difffilter", "which git add would run"],
  ["trailer.cmd", "which git commit would run"],
  ["trailer.command", "which git commit would run"],
  ["tar.command", "which git archive would run"],
  ["gc.recentobjectshook", "which git gc would run"],
  ["uploadpack.packobjectshook", "which git would run to answer a fetch"],
  ["submodule.update", "which git submodule would run", ifCommand],
  ["submodule.url", "which git submodule would run", ifRunning],
  ["pull.twohead", "which git pull would run", ifPath],
  ["pull.octopus", "which git pull would run", ifPath],

  ["browser.cmd", "which git help would run"],
  ["browser.path", "which git help would run"],
  ["man.cmd", "which git help would run"],
  ["man.path", "which git help would run"],
  ["web.browser", "which git help would run"],
  ["help.browser", "which git help would run"],
  ["instaweb.*", "which git instaweb would run"],
  ["difftool.cmd", "which git difftool would run"],
  ["difftool.path", "which git difftool would run"],
  ["mergetool.cmd", "which git mergetool would run"],
  ["mergetool.path", "which git mergetool would run"],
  // Both look for a script of the tool's name among their own.
  ["diff.tool", "which git difftool would run", ifPath],
  ["diff.guitool", "which git difftool would run", ifPath],
  ["merge.tool", "which git mergetool would run", ifPath],
  ["merge.guitool", "which git mergetool would run", ifPath],
  ["guitool.*", "which git gui would run"],
  ["sendemail.*", "which git send-email would run or send to"],
  ["imap.tunnel", "which git imap-send would run"],
  ["svn.authorsprog", "which git svn would run"],

  ["remote.uploadpack", "which git fetch would run"],
  ["remote.receivepack", "which git push would run"],
  ["remote.vcs", "so git fetch would run a program by that name"],
  ["remote.proxy", "through which git fetch would connect"],
  ["remote.url", "which git fetch would run", ifRunning],
  ["remote.pushurl", "which git push would run", ifRunning],
  ["remote.pushdefault", "which git push would run", ifRunning],
  ["branch.remote", "which git pull would run", ifRunning],
  ["branch.pushremote", "which git push would run", ifRunning],
  ["remote.promisor", "so git status could connect to it"],
  ["remote.partialclonefilter", "so git status could connect to it"],
  ["extensions.partialclone", "so git status could connect to it"],
  ["url.insteadof", "which git fetch would run", ({ subsection }) => isRunning(subsection)],
  ["url.pushinsteadof", "which git push would run", ({ subsection }) => isRunning(subsection)],
  ["protocol.*", "so git could use transports that run programs"],
  ["http.proxy", "through which git fetch would connect"],
  ["http.sslverify", "so git fetch could be answered by anyone", ifOff],
  ["http.sslcainfo", "so git fetch could be answered by anyone"],
  ["http.sslcapath", "so git fetch could be answered by anyone"],
  ["http.cookiefile", "a file that git fetch could write"],

  ["lfs.path", "which git lfs would run"],
  ["lfs.args", "which git lfs would run"],
  ["lfs.clean", "which git lfs would run"],
  ["lfs.smudge", "which git lfs would run"],
  ["lfs.standalonetransferagent", "which git lfs would run"],
  ["delta.pager", "which delta would run"],
  ["tig.*", "which tig could run"],
];

const table = new Map<string, Row[]>();
for (const row of rows) table.set(row[0], [...(table.get(row[0]) ?? []), row]);
