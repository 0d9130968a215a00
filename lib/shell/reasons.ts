import { basename, normalize } from "node:path";
import type { EgressRefusal } from "../egress/refusals/log.ts";
import { folded, isBelow } from "../files/path.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { ownerRefusal, whoseIs } from "../sandbox/policy/owner.ts";
import { hiddenFrom, isHidden, protectedName, writeRefusal } from "../sandbox/policy/reach.ts";
import { hostPath } from "../sandbox/policy/seen.ts";
import { isToolConfigName } from "../sandbox/policy/toolconfig.ts";
import { byDesign } from "./bydesign.ts";

export type FailedCommand = {
  command: string;
  /** The stderr of the command, or its stdout when that is empty (`2>&1`); or the end of it. */
  output: string;
  exitCode: number | undefined;
  policy: Policy;
  /** The last request of the command that the proxies refused. */
  refusal: Pick<EgressRefusal, "host" | "port" | "reason"> | undefined;
};

/** Programs name the cause of a failure at the end. */
const lastLines = 20;

/** Of a line the beginning names the program and the end the cause; the patterns take the square of its length. */
const mostOfLine = 300;

/**
 * The reason why the sandbox made a command fail, in one line for the model. The path is a guess from the messages of
 * common programs; the refusal is the policy's, and a path that the policy allows is never named. Only for commands
 * that ran in a sandbox.
 */
export function explain({ command, output, exitCode, policy, refusal }: FailedCommand): string | undefined {
  if (exitCode === 0) return undefined;
  const lines = output.trimEnd().split("\n").slice(-lastLines).map(shortened).reverse();
  for (const line of lines) {
    const reason =
      byDesign(line) ?? ofPath(line, { command, exitCode, policy }) ?? ofNetwork(line, { policy, refusal });
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function shortened(line: string): string {
  if (line.length <= 2 * mostOfLine) return line;
  return `${line.slice(0, mostOfLine)} … ${line.slice(-mostOfLine)}`;
}

const readOnly = /read-only file system|\bEROFS\b/i;
/** With "busy", something that a mount protects was to be replaced. */
const denied = /permission denied|resource busy|operation not permitted|\b(EACCES|EPERM|EBUSY)\b/i;
/** Otherwise a denial is about reading, and the file's own permissions may be the reason. */
const isAboutWriting =
  /\b(creat|writ|touch|mkdir|mak(e|ing)|remov|unlink|mov(e|ing)|renam|rmdir|delet|truncat|chmod|lock|sav|append)/i;
/** A redirection of the shell's, unless a program could not be started. */
const isRedirection = /^(\/\S+\/)?(ba|da|z|k)?sh: (line )?\d+: /;

/** Dash's words for a file to read from; bash has the same words for both. */
const isInput = /\bcannot open\b/;

type Context = Pick<FailedCommand, "command" | "exitCode" | "policy">;

function ofPath(line: string, context: Context): string | undefined {
  if (!readOnly.test(line) && !denied.test(line)) return undefined;
  const { policy } = context;
  const reasons = pathsIn(line).map((path) => {
    const real = hostPath(normalize(path.startsWith("/") ? path : `${policy.root}/${path}`), policy);
    return whyHidden(real, policy) ?? (isWriting(line, path, context) ? whyUnwritable : whyUnreadable)(real, policy);
  });
  // A source comes first in a message, and its destination last.
  const last = reasons.findLast((reason) => reason !== undefined);
  return last ?? (isWriting(line, policy.root, context) ? whyForeign(policy) : undefined);
}

function isWriting(line: string, path: string, { command, exitCode }: Context): boolean {
  if (readOnly.test(line)) return true;
  if (!isRedirection.test(line)) return isAboutWriting.test(line);
  return exitCode !== 126 && !isInput.test(line) && !isReadBy(command, path);
}

/** The shell could not open the file, and was to read from it. */
function isReadBy(command: string, path: string): boolean {
  const isBehind = (sign: string) => new RegExp(`${sign}\\s*["']?${RegExp.escape(path)}(?![\\w./-])`).test(command);
  // By a variable's name neither is to be found.
  return isBehind("<") || (command.includes("<") && !command.includes(">"));
}

/** The program that prints the message, when something that may be a path follows. */
const program = /^\/[^\s:]+: (?=.*[/'"])/;

/** In quotes, or as a word that looks like a path; a colon follows where the message does. */
function pathsIn(whole: string): string[] {
  const line = whole.replace(isRedirection, "").replace(program, "");
  const quoted = [...line.matchAll(/['"`‘]([^'"`’]+)['"`’]/g)].map(([, path = ""]) => path);
  const words = [...line.matchAll(/(?:^|[\s=(])((?:[\w@.-]*\/|\.\w)[^\s:,;'"`)]*)/g)].map(([, path = ""]) => path);
  const isNamed = (path: string) => protectedName(path) !== undefined || isToolConfigName(path);
  return [...quoted, ...words].filter((path) => path.includes("/") || isNamed(path));
}

function whyHidden(real: string, policy: Policy): string | undefined {
  if (!isHidden(real, policy)) return undefined;
  const above = hiddenFrom(policy).filter((path) => isBelow(folded(real), folded(path)));
  const deepest = above.sort((a, b) => b.length - a.length)[0] ?? real;
  return `sandbox: reading ${deepest} is not allowed (--allow-read opens what is hidden by default)`;
}

/** Any other file may have permissions that say no themselves. */
function whyUnreadable(real: string): string | undefined {
  const isProcess = /^\/proc\/\d+\/./.test(real);
  return isProcess
    ? `sandbox: reading ${real} is not allowed: processes cannot look into others, by design`
    : undefined;
}

function whyUnwritable(real: string, policy: Policy): string | undefined {
  const refusal = writeRefusal(real, policy) ?? ownerRefusal(real, policy);
  switch (refusal?.kind) {
    case undefined:
      return undefined;
    case "outside":
      return protectedName(real) === ".git" ? whyGit(real, policy) : whyOutside(real, policy);
    case "protected":
      return refusal.name === ".git" ? whyGit(real, policy) : `sandbox: ${refusal.name} is read-only, by design`;
    case "config":
      return `sandbox: ${real} is protected, since other programs run what is in ${basename(refusal.path)} (--allow-config allows changes)`;
    case "readonly":
      return `sandbox: ${real} is read-only in this run`;
    case "owner":
      return `sandbox: writing ${real} is not allowed: ${whoseIs(refusal)}`;
    case "kernel":
      return `sandbox: what the kernel makes up, as ${real}, cannot be changed`;
    default:
      return refusal satisfies undefined;
  }
}

/** A name alone is no path to look for, but the project itself may belong to another user. */
function whyForeign(policy: Policy): string | undefined {
  const refusal = ownerRefusal(`${policy.root}/file`, policy);
  return refusal && `sandbox: writing in ${policy.root} is not allowed: ${whoseIs(refusal)}`;
}

function whyOutside(real: string, policy: Policy): string {
  const way = isPlan(real, policy) ? "mode plan writes nothing in the project" : "--allow-write opens a directory";
  return `sandbox: writing ${real} is not allowed (${way})`;
}

function isPlan(real: string, { root, write }: Policy): boolean {
  return isBelow(real, root) && !write.includes(root);
}

/** Files that name programs which git runs, or places where it looks for such files. */
const gitSettings = /^(hooks|config|config\.worktree|commondir|info)(\/|$)/;

function whyGit(real: string, policy: Policy): string | undefined {
  const { root, allowGit } = policy;
  const own = `${root}/.git`;
  if (isPlan(real, policy)) return whyOutside(real, policy);
  if (!isBelow(real, own)) return whyOtherGit(real);
  if (!allowGit) return "sandbox: .git is read-only (--allow-git lets commands commit)";
  const inside = real.slice(own.length + 1);
  return gitSettings.test(inside) ? `sandbox: ${basename(real)} of .git stays read-only, by design` : undefined;
}

/** A repository above or below the project, or the one that a linked work tree belongs to. */
function whyOtherGit(real: string): string {
  const work = real.slice(0, folded(real).indexOf("/.git")) || "/";
  return `sandbox: of repositories only the project's own can be opened (for this one: --cd ${work} --allow-git)`;
}

const unreachable =
  /network is unreachable|could not resolve|name resolution|name or service not known|ENOTFOUND|EAI_AGAIN|ENETUNREACH/i;
const broken = /connection refused|connection reset|proxy|\b403\b|tunnel|ECONNREFUSED|ECONNRESET|timed? ?out/i;

function ofNetwork(line: string, { policy, refusal }: Pick<FailedCommand, "policy" | "refusal">): string | undefined {
  if (refusal !== undefined && (unreachable.test(line) || broken.test(line)))
    return `egress: ${refusal.host}:${refusal.port} was refused: ${refusal.reason}`;
  if (!unreachable.test(line)) return undefined;
  if (policy.network === "none") return "sandbox: the network is off (--net none)";
  return "sandbox: only koda's proxies lead to the network (HTTP_PROXY, ALL_PROXY), and nothing else resolves names";
}
