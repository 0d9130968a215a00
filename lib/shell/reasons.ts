import { basename, normalize } from "node:path";
import type { Policy } from "../sandbox/policy/policy.ts";
import { hiddenFrom, folded, isBelow, isHidden, protectedName, writeRefusal } from "../sandbox/policy/reach.ts";
import { hostPath } from "../sandbox/policy/seen.ts";

export type Failure = {
  /** What the command wrote there, or the end of it. */
  stderr: string;
  exitCode: number | undefined;
  policy: Policy;
  /** What the proxies refused while the command ran. */
  refusals: readonly Refusal[];
};

/** `reason` is a sentence for people, with the flag that would allow it where there is one. */
export type Refusal = { host: string; port: number; reason: string };

/** What went wrong is said last. */
const lastLines = 20;

/**
 * Why the sandbox made a command fail, in one line for the model. A guess from what programs commonly write, but no
 * claim: it says what the policy refuses, and of a path that the policy allows it says nothing. Only for commands that
 * ran in a sandbox.
 */
export function explain({ stderr, exitCode, policy, refusals }: Failure): string | undefined {
  if (exitCode === 0) return undefined;
  const lines = stderr.trimEnd().split("\n").slice(-lastLines).reverse();
  for (const line of lines) {
    const reason = byDesign(line) ?? ofPath(line, { exitCode, policy }) ?? ofNetwork(line, { policy, refusals });
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** What no flag allows: each with what programs write when it is refused. */
const refusedByDesign: readonly [message: RegExp, reason: string][] = [
  [/^sudo:|no new privileges|^su: |^doas: /i, "sudo and its like give no rights in a sandbox"],
  [/\bptrace\b.*not permitted|could not attach to process|^strace: .*not permitted/i, "tracing processes is refused"],
  [/^u?mount: .*(denied|not permitted|superuser)/i, "mounting is refused"],
  [/^(unshare|bwrap|newuidmap): .*(not permitted|permissions?|failed)/i, "making namespaces is refused"],
  [/^(chown|chgrp): .*(not permitted|invalid argument)/i, "files cannot be given to other users"],
  [/^ping6?: .*(not permitted|not supported)/i, "only TCP connections through koda's proxies are possible"],
];

function byDesign(line: string): string | undefined {
  const found = refusedByDesign.find(([message]) => message.test(line));
  return found && `sandbox: ${found[1]}, by design`;
}

const readOnly = /read-only file system|\bEROFS\b/i;
const denied = /permission denied|operation not permitted|\b(EACCES|EPERM)\b/i;
/** Otherwise a denial is about reading, and the file's own permissions may be the reason. */
const isAboutWriting =
  /\b(creat|writ|touch|mkdir|mak(e|ing)|remov|unlink|mov(e|ing)|renam|rmdir|delet|truncat|chmod|lock|sav|append)/i;
/** A redirection of the shell's, unless a program could not be started. */
const isRedirection = /^(\/\S+\/)?(ba|da|z|k)?sh: (line )?\d+: /;

type Context = Pick<Failure, "exitCode" | "policy">;

function ofPath(line: string, { exitCode, policy }: Context): string | undefined {
  if (!readOnly.test(line) && !denied.test(line)) return undefined;
  const writes = readOnly.test(line) || isAboutWriting.test(line) || (isRedirection.test(line) && exitCode !== 126);
  const reasons = pathsIn(line).map((path) => {
    const real = hostPath(normalize(path.startsWith("/") ? path : `${policy.root}/${path}`), policy);
    return whyHidden(real, policy) ?? (writes ? whyUnwritable(real, policy) : undefined);
  });
  return reasons.find((reason) => reason !== undefined);
}

/** Who speaks, when something that may be a path follows. */
const program = /^\/[^\s:]+: (?=.*[/'"])/;

/** In quotes, or as a word that looks like a path; a colon follows where the message does. */
function pathsIn(whole: string): string[] {
  const line = whole.replace(isRedirection, "").replace(program, "");
  const quoted = [...line.matchAll(/['"`‘]([^'"`’]+)['"`’]/g)].map(([, path = ""]) => path);
  const words = [...line.matchAll(/(?:^|[\s=(])((?:\.{0,2}\/|\.git\b|\.koda\b)[^\s:,;'"`)]*)/g)].map(
    ([, path = ""]) => path,
  );
  return [...quoted, ...words].filter((path) => path.includes("/") || protectedName(path) !== undefined);
}

function whyHidden(real: string, policy: Policy): string | undefined {
  if (!isHidden(real, policy)) return undefined;
  const above = hiddenFrom(policy).filter((path) => isBelow(folded(real), folded(path)));
  const deepest = above.sort((a, b) => b.length - a.length)[0] ?? real;
  return `sandbox: reading ${deepest} is not allowed (--allow-read opens what is hidden by default)`;
}

function whyUnwritable(real: string, policy: Policy): string | undefined {
  const refusal = writeRefusal(real, policy);
  switch (refusal?.kind) {
    case undefined:
      return undefined;
    case "outside":
      return `sandbox: writing ${real} is not allowed (${wayOut(real, policy)})`;
    case "protected":
      return refusal.name === ".git" ? whyGit(real, policy) : `sandbox: ${refusal.name} is read-only, by design`;
    case "readonly":
      return `sandbox: ${real} is read-only in this run`;
    case "kernel":
      return `sandbox: what the kernel makes up, as ${real}, cannot be changed`;
    default:
      return refusal satisfies undefined;
  }
}

function wayOut(real: string, { root, write }: Policy): string {
  const isPlan = isBelow(real, root) && !write.includes(root);
  return isPlan ? "mode plan writes nothing in the project" : "--allow-write opens a directory";
}

/** What git would run, and where it would look for that. */
const gitSettings = /^(hooks|config|config\.worktree|commondir|info)(\/|$)/;

function whyGit(real: string, { root, allowGit }: Policy): string | undefined {
  const own = `${root}/.git`;
  if (!allowGit) return "sandbox: .git is read-only (--allow-git lets commands commit)";
  if (!isBelow(real, own)) return "sandbox: --allow-git opens only the project's own .git";
  const inside = real.slice(own.length + 1);
  return gitSettings.test(inside) ? `sandbox: ${basename(real)} of .git stays read-only, by design` : undefined;
}

const unreachable =
  /network is unreachable|could not resolve|name resolution|name or service not known|ENOTFOUND|EAI_AGAIN|ENETUNREACH/i;
const broken = /connection refused|connection reset|proxy|\b403\b|tunnel|ECONNREFUSED|ECONNRESET|timed? ?out/i;

function ofNetwork(line: string, { policy, refusals }: Pick<Failure, "policy" | "refusals">): string | undefined {
  const last = refusals.at(-1);
  if (last !== undefined && (unreachable.test(line) || broken.test(line)))
    return `egress: ${last.host}:${last.port} was refused: ${last.reason}`;
  if (!unreachable.test(line)) return undefined;
  if (policy.network === "none") return "sandbox: the network is off (--net none)";
  return "sandbox: only koda's proxies lead to the network (HTTP_PROXY, ALL_PROXY), and nothing else resolves names";
}
