import { follow } from "../../git/places.ts";
import type { GitSetting } from "./config.ts";
import { isInside } from "./pointers.ts";

/** The configuration that a setting stands in: relative paths are relative to its git directory. */
type ConfigPlace = { gitDirectory: string; roots: readonly string[] };

/**
 * Why a setting is dangerous, if it is, as a clause about the repository that it stands in. git can be told to run
 * programs by an open set of settings, its own and those of programs beside it, so this is the list of the others.
 */
export function whySettingDangerous(setting: GitSetting, place: ConfigPlace): string | undefined {
  const { section, subsection, variable } = setting;
  const isHarmless = harmless.get(`${section}.${variable}`) ?? harmless.get(`${section}.*`);
  if (isHarmless?.(setting, place) === true) return undefined;
  const name = JSON.stringify([section, subsection, variable].filter((part) => part !== "").join(".")).slice(1, -1);
  const what = isHarmless === undefined ? ", which" : " to a value that";
  return `its config sets ${name}${what} is not known to be harmless`;
}

type Check = (setting: GitSetting, place: ConfigPlace) => boolean;

const any: Check = () => true;
const textMatching =
  (pattern: RegExp): Check =>
  ({ value }) =>
    value === true || pattern.test(value);
const flag = textMatching(/^(|true|yes|on|1|false|no|off|0)$/i);
const off: Check = ({ value }) => value !== true && /^(|false|no|off|0)$/i.test(value);
const on = textMatching(/^(true|yes|on|1)$/i);
const oneWord = textMatching(/^[\w.-]*$/);
const address: Check = ({ value }) => value !== true && isHarmlessAddress(value);
const inside: Check = ({ value }, { gitDirectory, roots }) => {
  if (value === true) return false;
  const { real, fault } = follow(gitDirectory, value);
  return fault === undefined && isInside(real, roots);
};

/**
 * A URL, a path, `host:path` as ssh has it, or the name of a remote. `ext::` runs what follows it and `name::` a
 * program by that name; a host that begins with a dash is an option.
 */
function isHarmlessAddress(text: string): boolean {
  if (/^\s*[\w.+-]*::|^\s*-|@-/.test(text)) return false;
  const [, scheme] = /^\s*([a-z][a-z0-9+.-]*):\/\/(?!-)/i.exec(text) ?? [];
  return scheme === undefined ? !text.includes("://") : /^(https?|ssh|git|file)$/i.test(scheme);
}

/** The rest of an address is added to it: what ends within a scheme could become another one. */
function isWholeAddress(text: string): boolean {
  return /^(https?|ssh|git|file):\/\/[^-@]|^[\w.-]+@[\w.-]+:(?!:)/i.test(text) && isHarmlessAddress(text);
}

/** `section.variable`, in whatever subsection; `*` is any variable. */
const table: readonly [keys: string, check: Check][] = [
  ["core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.symlinks", any],
  ["core.precomposeunicode core.autocrlf core.eol core.safecrlf core.whitespace core.quotepath core.abbrev", any],
  ["core.sparsecheckout core.sparsecheckoutcone core.untrackedcache core.splitindex core.preloadindex", any],
  ["core.compression core.longpaths core.multipackindex core.commitgraph core.commentchar index.* feature.*", any],
  ["core.fsmonitor pager.*", flag],
  ["core.protecthfs core.protectntfs", on],
  ["core.worktree", inside],
  ["extensions.worktreeconfig extensions.objectformat extensions.relativeworktrees", any],
  ["extensions.refstorage", oneWord],
  ["extensions.preciousobjects extensions.noop", any],
  ["remote.promisor remote.partialclonefilter extensions.partialclone remote.skipdefaultupdate", any],
  ["remote.followremotehead submodule.alternatelocation submodule.alternateerrorstrategy submodule.shallow", any],
  ["branch.vscode-merge-base branch.gh-merge-base branch.gk-merge-base core.sharedrepository", any],
  ["receive.denynonfastforwards gui.wmstate gui.geometry", any],
  // git-flow runs the hooks in the directory that `gitflow.path.hooks` names.
  ["gitflow.*", ({ variable }) => variable !== "hooks"],
  ["remote.fetch remote.push remote.tagopt remote.mirror remote.prune remote.prunetags remote.gh-resolved", any],
  ["remote.url remote.pushurl remote.pushdefault branch.remote branch.pushremote submodule.url", address],
  ["branch.merge branch.rebase branch.description branch.autosetupmerge branch.autosetuprebase branch.sort", any],
  ["submodule.active submodule.branch submodule.ignore submodule.fetchrecursesubmodules submodule.recurse", any],
  ["submodule.update", textMatching(/^(checkout|rebase|merge|none)$/)],
  ["url.insteadof url.pushinsteadof", ({ subsection }) => isWholeAddress(subsection)],
  ["user.name user.email user.useconfigonly user.signingkey author.* committer.* color.* column.* advice.*", any],
  ["status.* log.* tag.sort i18n.* blame.* init.defaultbranch rerere.* versionsort.* grep.*", any],
  ["diff.algorithm diff.renames diff.renamelimit diff.context diff.colormoved diff.colormovedws diff.submodule", any],
  ["diff.noprefix diff.mnemonicprefix diff.wserrorhighlight diff.indentheuristic diff.binary diff.xfuncname", any],
  ["diff.tool diff.guitool merge.tool merge.guitool", oneWord],
  ["merge.conflictstyle merge.ff merge.renames merge.renamelimit merge.directoryrenames pull.rebase pull.ff", any],
  ["push.default push.autosetupremote push.followtags fetch.prune fetch.prunetags fetch.parallel", any],
  ["rebase.autostash rebase.autosquash rebase.updaterefs rebase.missingcommitscheck commit.verbose", any],
  // By the user's own program: only the repository could name another.
  ["commit.gpgsign tag.gpgsign push.gpgsign", flag],
  ["gc.auto gc.autodetach gc.pruneexpire gc.reflogexpire gc.worktreepruneexpire maintenance.auto pack.*", any],
  ["http.postbuffer http.version http.lowspeedlimit http.lowspeedtime receive.denycurrentbranch", any],
  ["http.sslverify", on],
  ["protocol.version", any],
  ["lfs.repositoryformatversion lfs.access lfs.locksverify filter.required", any],
  ["filter.clean filter.smudge filter.process", textMatching(/^git-lfs (clean -- %f|smudge -- %f|filter-process)$/)],
  ["credential.helper interactive.difffilter", off],
];

const harmless: ReadonlyMap<string, Check> = new Map(
  table.flatMap(([keys, check]) => keys.split(" ").map((key): [string, Check] => [key, check])),
);
