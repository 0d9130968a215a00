import { basename, isAbsolute, relative } from "node:path";
import type { Policy } from "../sandbox/policy.ts";
import { walk, type Kind, type Walk } from "./walk.ts";

/** Where a path that the model gave leads, judged by the policy. Nothing here throws: the gate and the tool decide. */
export type Place = {
  /** Absolute and without a symlink; the parts that do not exist yet are kept as given. */
  real: string;
  /** The same for people and the model: relative to the project when it lies inside, `.` for the project itself. */
  shown: string;
  kind: Kind;
  /** Why the path cannot be used by anyone (a loop, a NUL byte, no permission), as the rest of a sentence. */
  fault?: string;
  /** Why it may not even be read. */
  hidden?: string;
  /** Why it may not be written; always set when `hidden` is. */
  outside?: string;
};

/** Where a path leads in the end: every symlink is followed, for reading and for writing. */
export function locate(given: string, policy: Policy): Place {
  return judge(given, walkFrom(given, policy, true), policy);
}

/** The thing itself that a path names, which may be a symlink: for deleting. */
export function locateEntry(given: string, policy: Policy): Place {
  return judge(given, walkFrom(given, policy, false), policy);
}

function walkFrom(given: string, { root, home }: Policy, follow: boolean): Walk {
  const unusable = (fault: string): Walk => ({ real: root, kind: "missing", followed: [], fault });
  if (given === "") return unusable("it is empty");
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(given)) return unusable("it is a URL, and a path is wanted");
  if (given === "~" || given.startsWith("~/")) return walk(home + given.slice(1), { follow });
  // Not node's join(): it would take `link/..` by its letters, before the link was looked at.
  return walk(isAbsolute(given) ? given : `${root}/${given}`, { follow });
}

function judge(given: string, { real, kind, followed, fault }: Walk, policy: Policy): Place {
  // Nobody can use such a path, so there is nothing to allow or to refuse.
  if (fault !== undefined) return { real, shown: given, kind, fault };
  const hidden = whyHidden(real, policy);
  const outside = hidden ?? whyUnwritable(real, policy) ?? whyLinkProtected(followed, policy);
  return {
    real,
    shown: shownPath(real, policy),
    kind,
    ...(hidden !== undefined && { hidden }),
    ...(outside !== undefined && { outside }),
  };
}

export function shownPath(real: string, { root }: Policy): string {
  if (real === root) return ".";
  return isBelow(real, root) ? relative(root, real) : real;
}

/**
 * Why a real path may not be read, if so. The deepest rule wins, so a project inside a hidden directory can be worked
 * on, and a hidden directory inside a project stays hidden.
 */
export function whyHidden(real: string, policy: Policy): string | undefined {
  if (secretOfProcesses.test(real)) return `"${real}" is hidden: it shows what processes keep in memory`;
  const hide = deepestAbove(folded(real), refusalsOf(policy).hide);
  if (hide === undefined) return undefined;
  const write = deepestAbove(real, policy.write);
  if (write !== undefined && write.length > hide.length) return undefined;
  return `"${shownPath(real, policy)}" is hidden from this run`;
}

/**
 * File tools run inside koda, where no sandbox hides `/proc`: the environment of koda or of the shell that started it
 * holds the provider's key.
 */
const secretOfProcesses = /^\/proc\/(\d+|self|thread-self|kcore)(\/|$)/;

/** Why a real path may not be written, if so; whether it is hidden is another question. */
export function whyUnwritable(real: string, policy: Policy): string | undefined {
  const roots = policy.write.filter((root) => isBelow(real, root));
  if (roots.length === 0) return `"${shownPath(real, policy)}" is outside the writable directories`;
  const name = roots.map((root) => protectedName(real.slice(root.length))).find((found) => found !== undefined);
  if (name !== undefined) return `"${shownPath(real, policy)}" is protected: ${name} is read-only`;
  const isReadonly = deepestAbove(folded(real), refusalsOf(policy).readonly) !== undefined;
  return isReadonly ? `"${shownPath(real, policy)}" is read-only` : undefined;
}

/** A `.git` that is a symlink protects what it points to: git would run the hooks it finds there. */
function whyLinkProtected(followed: readonly string[], policy: Policy): string | undefined {
  const link = followed.find(
    (path) => protectedName(basename(path)) !== undefined && policy.write.some((root) => isBelow(path, root)),
  );
  return link === undefined ? undefined : `"${shownPath(link, policy)}" is protected: ${basename(link)} is read-only`;
}

/** Directories that decide which code git and koda itself will run. */
const protectedNames = /(?:^|\/)(\.git|\.koda)(?:\/|$)/;

/** The one of them that a path names or leads through. */
export function protectedName(path: string): string | undefined {
  return protectedNames.exec(folded(path))?.[1];
}

/** Is it the directory itself, or something in it? Both without a symlink. */
export function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

function deepestAbove(path: string, directories: readonly string[]): string | undefined {
  const above = directories.filter((directory) => isBelow(path, directory));
  return above.sort((a, b) => b.length - a.length)[0];
}

/**
 * Refusals are compared without capitals and Unicode forms: on a file system that does not tell `.GIT` from `.git`
 * they are the same directory, and on the others nobody misses it.
 */
export function folded(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

type Refusals = Pick<Policy, "hide" | "readonly">;

/** Deleting a tree asks about each of its entries, so the lists are folded only once. */
const refusals = new WeakMap<Policy, Refusals>();

function refusalsOf(policy: Policy): Refusals {
  const known = refusals.get(policy);
  if (known !== undefined) return known;
  const made = { hide: policy.hide.map(folded), readonly: policy.readonly.map(folded) };
  refusals.set(policy, made);
  return made;
}

/** Why no call may ever delete a real path, if so: `/`, the home, a writable root, or a parent of one. */
export function whyUndeletable(real: string, policy: Policy): string | undefined {
  const holds = (path: string) => isBelow(folded(path), folded(real));
  if (real === "/") return 'deleting "/"';
  if (holds(policy.home)) return `deleting "${real}", which is the home directory or holds it`;
  const root = [policy.root, ...policy.write].find(holds);
  return root === undefined ? undefined : `deleting "${real}", which is the writable directory "${root}" or holds it`;
}
