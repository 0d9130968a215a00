import { basename, isAbsolute, relative } from "node:path";
import { folded, isBelow } from "../files/path.ts";
import { lookUp, followPath, type FileKind, type Walk } from "../files/walk.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { ownerRefusal, whoseIs } from "../sandbox/policy/owner.ts";
import { configAt, isHidden, protectedName, writeRefusal } from "../sandbox/policy/reach.ts";
import { hostPath, seenPath } from "../sandbox/policy/seen.ts";
import { lookAsSeen } from "./seen.ts";

/** The end of a path that the model gave, judged by the policy. Nothing here throws: the gate and the tool decide. */
export type ResolvedPath = {
  /** Absolute and without a symlink; the parts that do not exist yet are kept as given. */
  real: string;
  /** The same for people and the model: relative to the project when it lies inside, `.` for the project itself. */
  shown: string;
  kind: FileKind;
  /** Why the path cannot be used by anyone (a loop, a NUL byte, no permission), as the rest of a sentence. */
  fault?: string;
  /** Why it may not even be read. */
  hidden?: string;
  /** Why it may not be written; always set when `hidden` is. */
  outside?: string;
};

/** Follows every symlink, the last part's too: for reading and for writing. */
export function resolvePath(given: string, policy: Policy): ResolvedPath {
  return judge(given, walkFrom(given, policy, true), policy);
}

/** Resolves to the entry that a path names, which may be a symlink: for deleting. */
export function resolveEntry(given: string, policy: Policy): ResolvedPath {
  return judge(given, walkFrom(given, policy, false), policy);
}

function walkFrom(given: string, policy: Policy, follow: boolean): Walk {
  const { root, home } = policy;
  const unusable = (fault: string): Walk => ({ real: root, kind: "missing", followed: [], fault });
  if (given === "") return unusable("it is empty");
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(given)) return unusable("it is a URL, expected a path");
  const way = { follow, look: lookAsSeen(policy) };
  if (given === "~" || given.startsWith("~/")) return onHost(followPath(home + given.slice(1), way), policy);
  // Not node's join(): it would take `link/..` by its letters, before the link was looked at.
  return onHost(followPath(isAbsolute(given) ? given : `${root}/${given}`, way), policy);
}

/** The walk went by the names that commands see; files are opened by the host's. */
function onHost({ followed, ...end }: Walk, policy: Policy): Walk {
  const real = hostPath(end.real, policy);
  const links = followed.map((link) => hostPath(link, policy));
  if (real === end.real || end.kind !== "directory") return { ...end, real, followed: links };
  // Of the directories on the way to a root only those are there that something was put into.
  const found = lookUp(real);
  return { ...end, real, followed: links, kind: "kind" in found ? found.kind : "missing" };
}

function judge(given: string, { real, kind, followed, fault }: Walk, policy: Policy): ResolvedPath {
  // No one can use such a path, so there is nothing to allow or to refuse.
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

/** The parts of a policy on which the names of paths depend. */
export type Naming = Pick<Policy, "root" | "tmp" | "privateTmp">;

export function shownPath(real: string, policy: Naming): string {
  const { root } = policy;
  if (real === root) return ".";
  return isBelow(real, root) ? relative(root, real) : seenPath(real, policy);
}

/** Why a real path may not be read, if so. */
export function whyHidden(real: string, policy: Policy): string | undefined {
  if (secretOfProcesses.test(real)) return `"${real}" is hidden: it shows what processes keep in memory`;
  return isHidden(real, policy) ? `"${shownPath(real, policy)}" is hidden from this run` : undefined;
}

/**
 * File tools run inside koda, where no sandbox hides `/proc`: the environment of koda or of the shell that started it
 * holds the provider's key.
 */
const secretOfProcesses = /^\/proc\/(\d+|self|thread-self|kcore)(\/|$)/;

/** Why a real path may not be written, if so; whether it is hidden is another question. */
export function whyUnwritable(real: string, policy: Policy): string | undefined {
  const refusal = writeRefusal(real, policy) ?? ownerRefusal(real, policy);
  if (refusal === undefined) return undefined;
  const shown = shownPath(real, policy);
  switch (refusal.kind) {
    case "outside":
      return `"${shown}" is outside the writable directories`;
    case "protected":
      return `"${shown}" is protected: ${refusal.name} is read-only`;
    case "config":
      return whyConfig(real, refusal.path, policy);
    case "readonly":
      return `"${shown}" is read-only`;
    case "kernel":
      return `"${shown}" is read-only: the kernel provides it`;
    case "owner":
      return `"${shown}" cannot be written by the commands of this run: ${whoseIs(refusal)}`;
    default:
      return refusal satisfies never;
  }
}

function whyConfig(real: string, config: string, policy: Policy): string {
  const [shown, name] = [real, config].map((path) => shownPath(path, policy));
  return `"${shown}" is protected: other programs run what "${name}" says (--allow-config allows changes)`;
}

/** A `.git` that is a symlink protects what it points to: git would run the hooks it finds there. */
function whyLinkProtected(followed: readonly string[], policy: Policy): string | undefined {
  const config = policy.allowConfig ? undefined : followed.find((path) => configAt(path, policy) === path);
  if (config !== undefined) return whyConfig(config, config, policy);
  const link = followed.find(
    (path) => protectedName(basename(path)) !== undefined && policy.write.some((root) => isBelow(path, root)),
  );
  return link === undefined ? undefined : `"${shownPath(link, policy)}" is protected: ${basename(link)} is read-only`;
}

/** Why no call may ever delete a real path, if so: `/`, the home, a writable root, or a parent of one. */
export function whyUndeletable(real: string, policy: Policy): string | undefined {
  const holds = (path: string) => isBelow(folded(path), folded(real));
  if (real === "/") return 'deleting "/"';
  if (holds(policy.home)) return `deleting "${real}", which is the home directory or holds it`;
  const root = [policy.root, ...policy.write].find(holds);
  return root === undefined ? undefined : `deleting "${real}", which is the writable directory "${root}" or holds it`;
}
