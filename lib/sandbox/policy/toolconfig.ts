import { folded } from "../../files/path.ts";

/** Matches the first entries of a directory that run nothing. */
type Harmless = RegExp;
const none: Harmless = /(?!)/;

/**
 * Directories in which editors, agents and shells are told what to run: tasks, hooks, servers, skills, programs to
 * start. They obey them in whichever directory they are opened.
 */
const directories: ReadonlyMap<string, Harmless> = new Map([
  [".agents", /^agents\.md$/],
  [".claude", /^claude\.md$/],
  [".codex", none],
  [".cursor", /^rules$/],
  [".devcontainer", none],
  [".gemini", /^(gemini|styleguide)\.md$/],
  [".husky", none],
  [".idea", none],
  [".opencode", none],
  [".vscode", /^(extensions\.json|.+\.code-snippets)$/],
  [".zed", none],
]);

const files: ReadonlySet<string> = new Set([
  ".devcontainer.json",
  ".envrc",
  ".mcp.json",
  "opencode.json",
  "opencode.jsonc",
]);

/** Editors do not open the directory of a dependency, and many are published with their authors' settings. */
const dependencies = "node_modules";

export function isToolConfigName(name: string): boolean {
  const plain = folded(name);
  return directories.has(plain) || files.has(plain) || plain.endsWith(".code-workspace");
}

/** The outermost configuration of another tool that a path names or leads through, relative as the path is. */
export function toolConfigIn(path: string): string | undefined {
  const parts = path.split("/");
  const index = parts.findIndex((part) => part === dependencies || isToolConfigName(part));
  return index === -1 || parts[index] === dependencies ? undefined : parts.slice(0, index + 1).join("/");
}

/** Is an entry of such a directory, or what lies in the entry, nothing that a tool would run? */
export function isHarmlessEntry(config: string, entry: string): boolean {
  const name = folded(config.slice(config.lastIndexOf("/") + 1));
  return directories.get(name)?.test(folded(entry)) ?? false;
}
