import { forEachChild, parse, type SyntaxNode } from "./command/parse.ts";
import { wordsIn } from "./command/words.ts";

/**
 * Does every command of a shell line match one of these patterns: `git:*` (git with any arguments), `npm run *`,
 * `git status`? Only what is literal can match. A line that sets variables, computes, or writes to files by itself
 * matches nothing: the first makes something else of a command that is allowed, and an index in arithmetic is run.
 */
export function matchesPatterns(line: string, patterns: readonly string[], home: string): boolean {
  const script = parse(line);
  if (script.errors !== undefined && script.errors.length > 0) return false;
  const nodes: SyntaxNode[] = [script];
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    if (!isHarmless(node) || (node.type === "Command" && !matches(node, patterns, home))) return false;
    forEachChild(node, (child) => void nodes.push(child));
  }
  return true;
}

type CommandNode = Extract<SyntaxNode, { type: "Command" }>;

function matches(node: CommandNode, patterns: readonly string[], home: string): boolean {
  if (node.name === undefined || node.prefix.some(({ type }) => type === "Assignment")) return false;
  const command = wordsIn(node, home).join(" ");
  return patterns.some((pattern) => matchesPattern(command, pattern));
}

/**
 * The parts of a line that run nothing themselves. A loop is none of them, since it may set PATH, nor is arithmetic,
 * also in a test: it runs `a[$(rm x)]` in the value of a variable.
 */
const harmless: ReadonlySet<string> = new Set<SyntaxNode["type"]>([
  "Script",
  "Statement",
  "CompoundList",
  "AndOr",
  "Pipeline",
  "Negation",
  "Time",
  "Subshell",
  "BraceGroup",
  "If",
  "Elif",
  "While",
  "Case",
  "CaseItem",
  "Command",
  "Redirect",
  "FileDescriptor",
  "Word",
  "Literal",
  "SingleQuoted",
  "DoubleQuoted",
  "AnsiCQuoted",
  "LocaleString",
  "BraceExpansion",
  "Glob",
  "ExtendedGlob",
  "SimpleExpansion",
  "ParameterExpansion",
  "Default",
  "Remove",
  "Replace",
  "CaseModification",
  "CommandExpansion",
  "ProcessSubstitution",
]);

/** Output may go nowhere, or where another output goes. */
function isHarmless(node: SyntaxNode): boolean {
  if (!harmless.has(node.type)) return false;
  if (node.type === "ParameterExpansion") return isText(node);
  if (node.type !== "Redirect" || node.operator === "<" || node.operator === "<&") return true;
  const target = node.target?.value ?? "";
  return target === "/dev/null" || (node.operator === ">&" && /^\d+$/.test(target));
}

/** An index, the place of a slice and a name in a variable are computed; `@P` runs its text, and `:=` sets. */
function isText({ prefix, index, operation }: Extract<SyntaxNode, { type: "ParameterExpansion" }>): boolean {
  if (prefix === "!" || index !== undefined) return false;
  if (operation?.type === "Default") return !operation.operator.endsWith("=");
  return operation === undefined || ["Remove", "Replace", "CaseModification"].includes(operation.type);
}

/** `*` is any text, `:*` at the end any arguments or none. No regular expression: many stars would take it forever. */
function matchesPattern(command: string, pattern: string): boolean {
  if (pattern.endsWith(":*")) return `${command} `.startsWith(`${pattern.slice(0, -2)} `);
  const [start = "", ...parts] = pattern.split("*");
  const end = parts.pop();
  if (end === undefined) return command === pattern;
  if (!command.startsWith(start)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = command.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return command.endsWith(end) && command.length - end.length >= at;
}
