import { forEachChild, parse, type ParsedScript, type SyntaxNode } from "unbash";

export type {
  Assignment,
  Command,
  CompoundList,
  Function as FunctionDefinition,
  ParameterExpansionPart,
  ParsedScript,
  Pipeline,
  Redirection,
  Statement,
  SyntaxNode,
  Word,
  WordPart,
} from "unbash";

/** A shell script as a tree. What cannot be parsed is in `errors`; the tree then has what could. */
export function parseScript(source: string): ParsedScript {
  return parse(source);
}

/**
 * The scripts that the shell runs in order to expand this node's own words: `$(…)`, backquotes, `<(…)`, at any depth of
 * quotes, arithmetic and here-documents. Lists of commands inside the node are not its words and are left alone.
 */
export function substitutionsIn(node: SyntaxNode): ParsedScript[] {
  const found: ParsedScript[] = [];
  visitWords(node, (part) => {
    if (part.type === "Script") found.push(part);
  });
  return found;
}

/** Does it have `${x@P}`, which runs the substitutions that the variable's value holds? */
export function hasPromptExpansion(node: SyntaxNode): boolean {
  let found = false;
  visitWords(node, (part) => {
    if (part.type === "Transform" && part.operand.value === "P") found = true;
  });
  return found;
}

function visitWords(node: SyntaxNode, visit: (part: SyntaxNode) => void): void {
  forEachChild(node, (child) => {
    visit(child);
    if (child.type !== "Script" && !commandTypes.has(child.type)) visitWords(child, visit);
  });
}

/** Nodes that are commands of their own, so that whoever walks the commands will come to their words by itself. */
const commandTypes: ReadonlySet<SyntaxNode["type"]> = new Set<SyntaxNode["type"]>([
  "AndOr",
  "ArithmeticCommand",
  "ArithmeticFor",
  "BraceGroup",
  "Case",
  "Command",
  "CompoundList",
  "Coproc",
  "For",
  "Function",
  "If",
  "Pipeline",
  "Redirected",
  "Select",
  "Statement",
  "Subshell",
  "TestCommand",
  "While",
]);
