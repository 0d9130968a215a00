import { resolve } from "node:path";

/** A repository as `git clone` takes it. */
type Repository = { repo: string } | { problem: string };

const schemes: ReadonlySet<string> = new Set(["https", "http", "ssh", "git", "file"]);

/**
 * Paths are relative to the list's directory. Other transports of git may run programs, and a password would be in the
 * store, so both are refused.
 */
export function repositoryOf(text: string, directory: string): Repository {
  if (text.trim() === "" || text.startsWith("-") || /\p{Cc}/u.test(text)) return { problem: expectedRepository };
  if (/^[\w+.-]+::/.test(text)) return { problem: `${expectedRepository}, not another transport of git` };
  const [, scheme] = /^([a-z][\w+.-]*):\/\//i.exec(text) ?? [];
  if (scheme === undefined) return { repo: isScpLike(text) || text.startsWith("~/") ? text : resolve(directory, text) };
  if (!schemes.has(scheme.toLowerCase())) return { problem: expectedRepository };
  if (hasPassword(text))
    return { problem: "the URL has a password, which would be kept in the store: use a git credential helper" };
  return { repo: text };
}

/** Tokens of known forges are names of users too. What follows a host is a port, or else it belongs to a password. */
function hasPassword(url: string): boolean {
  const [, authority = "", rest = ""] = /^[^/]+\/\/([^/]*)(.*)/s.exec(url) ?? [];
  const user = authority.slice(0, Math.max(authority.lastIndexOf("@"), 0));
  if (user.includes(":") || tokenLike.test(user)) return true;
  return /^[^[:]*:\D/.test(authority) && rest.includes("@");
}

const tokenLike = /^(?:gh[a-z]_|github_pat_|gl[a-z]{1,6}-|hf_|AT[A-Z]{2,3}|[0-9a-f]{40})/;

export const expectedRepository = "expected a URL (https, http, ssh, git or file), HOST:PATH or a path";

/** As git tells it: `host:path`, unless a slash comes first. */
function isScpLike(text: string): boolean {
  return /^[^/:]+:/.test(text);
}

/**
 * The problem that git has with the name of a branch: the rules of `git check-ref-format --branch`, as far as they are
 * about the name alone.
 */
export function branchProblem(name: string): string | undefined {
  if (name === "") return "it is empty";
  if (name.startsWith("-")) return "it begins with a dash";
  if (name === "HEAD" || name === "@") return "git has another meaning for it";
  if (/[\p{Cc} ~^:?*[\\]/u.test(name)) return "it has a space, a control character or one of ~ ^ : ? * [ \\";
  if (name.includes("..") || name.includes("@{") || name.includes("//")) return 'it has "..", "@{" or "//"';
  if (name.startsWith("/") || name.endsWith("/") || name.endsWith("."))
    return 'it begins or ends with "/", or ends with "."';
  if (name.split("/").some((part) => part.startsWith(".") || part.endsWith(".lock")))
    return 'a part of it begins with "." or ends with ".lock"';
  return undefined;
}

/** A branch, a tag or a commit, or an expression for one such as `HEAD~3`. It never looks like a flag. */
export function isRevision(text: string): boolean {
  return text !== "" && text.length <= 1024 && !text.startsWith("-") && !/[\p{Cc}\s]/u.test(text);
}

/** A directory below a clone. */
export function isBelowClone(text: string): boolean {
  return text !== "" && !text.startsWith("/") && !text.split(/[/\\]/).includes("..") && !text.includes("\0");
}
