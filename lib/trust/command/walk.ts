import { type Claim, noEffect } from "../claim.ts";
import { runCommand } from "./call.ts";
import { together, unknownWrite } from "./claims.ts";
import { inputFrom, linesOf } from "./output.ts";
import {
  hasPromptExpansion,
  parseScript,
  substitutionsIn,
  type ParsedScript,
  type Pipeline,
  type SyntaxNode,
  type Word,
} from "./parse.ts";
import type { Interpreter } from "./program.ts";
import { redirect } from "./redirects.ts";
import { deeper, forkScope, joinScopes, type ShellScope } from "./scope.ts";
import type { Text } from "./text.ts";
import { expand, expandAll } from "./words.ts";

/** Judges a script in this scope, which then is as the script leaves it. */
export function walkSource(source: string, scope: ShellScope): Claim {
  return deeper(scope, () => walkScript(parseScript(source), scope)) ?? unknownWrite;
}

const interpreter: Interpreter = { source: walkSource, node: walk };

function walkScript({ commands, errors }: ParsedScript, scope: ShellScope): Claim {
  const claim = walkAll(commands, scope);
  // The shell runs what stands before the mistake, and may read the rest in another way than the parser did.
  return errors === undefined || errors.length === 0 ? claim : together([claim, unknownWrite]);
}

function walkAll(nodes: readonly SyntaxNode[], scope: ShellScope): Claim {
  return together(nodes.map((node) => walk(node, scope)));
}

/** Judges the node's commands, and what the shell runs while it expands the node's own words. */
function walk(node: SyntaxNode, scope: ShellScope): Claim {
  if (scope.budget.nodes-- <= 0) return unknownWrite;
  const substituted = substitutionsIn(node).map((script) => walkScript(script, forkScope(scope)));
  const evaluated = hasPromptExpansion(node) ? [unknownWrite] : [];
  return together([...substituted, ...evaluated, walkCommands(node, scope)]);
}

function walkCommands(node: SyntaxNode, scope: ShellScope): Claim {
  switch (node.type) {
    case "Command":
      return runCommand(node, scope, interpreter);
    case "Statement":
      return walk(node.command, node.background === true ? forkScope(scope) : scope);
    case "Pipeline":
      return walkPipeline(node, scope);
    case "AndOr":
      return walkChain(node.commands, node.operators, scope);
    case "CompoundList":
      return walkAll(node.commands, scope);
    case "BraceGroup":
      return walk(node.body, scope);
    case "Subshell":
    case "Coproc":
      return walk(node.body, forkScope(scope));
    case "Function":
      scope.functions.set(node.name.value, node.body);
      return noEffect;
    case "Redirected": {
      const input = inputFrom(node.redirects, scope, expand);
      const claims = node.redirects.map((one) => redirect(one, scope));
      return together([...claims, withInput(input, scope, () => walk(node.command, scope))]);
    }
    case "If":
      return together([walk(node.clause, scope), walkBranches([node.then, ...node.elif, node.else], scope)]);
    case "Elif":
      return walkAll([node.clause, node.then], scope);
    case "Case":
      return walkBranches([...node.items.map(({ body }) => body), undefined], scope);
    case "While":
      return walkLoop([node.clause, node.body], scope);
    case "ArithmeticFor":
      return walkLoop([node.body], scope);
    case "For":
    case "Select": {
      const { name, wordlist } = node;
      return walkLoop([node.body], scope, { name, texts: wordlist && expandAll(wordlist, scope) });
    }
    default:
      return noEffect;
  }
}

/** Each command of a pipeline runs in a subshell of its own, and may know what the one before it prints. */
function walkPipeline({ commands }: Pipeline, scope: ShellScope): Claim {
  const [only, ...others] = commands;
  if (only !== undefined && others.length === 0) return walk(only, scope);

  const claims: Claim[] = [];
  let { input } = scope;
  for (const command of commands) {
    const stage = { ...forkScope(scope), input };
    claims.push(walk(command, stage));
    input = linesOf(command, stage, expand);
  }
  return together(claims);
}

/** `a && b` is taken to succeed: what follows is then judged where `cd somewhere && …` leads. */
function walkChain(commands: readonly SyntaxNode[], operators: readonly ("&&" | "||")[], scope: ShellScope): Claim {
  const before = forkScope(scope);
  const claims = commands.map((command, index) => {
    const operator = operators[index - 1];
    if (operator === undefined) return walk(command, scope);
    const branch = forkScope(operator === "||" ? before : scope);
    const claim = walk(command, branch);
    if (branch.left === undefined) joinScopes(scope, operator === "||" ? [forkScope(scope), branch] : [branch]);
    return claim;
  });
  return together(claims);
}

/** One of the branches is taken; an absent one changes nothing. */
function walkBranches(branches: readonly (SyntaxNode | undefined)[], scope: ShellScope): Claim {
  const scopes = branches.map(() => forkScope(scope));
  const claims = branches.map((branch, index) => {
    const own = scopes[index];
    return branch === undefined || own === undefined ? noEffect : walk(branch, own);
  });
  joinScopes(scope, scopes);
  return together(claims);
}

type LoopVariable = { name: Word; texts: readonly Text[] | undefined };

/** Twice, so that what the end of the body leaves behind is known at its beginning. */
function walkLoop(body: readonly SyntaxNode[], scope: ShellScope, variable?: LoopVariable): Claim {
  const claims: Claim[] = [];
  for (let round = 0; round < 2; round++) {
    const own = forkScope(scope);
    if (variable !== undefined) assignLoopVariable(variable, own);
    claims.push(walkAll(body, own));
    if (own.left === "loop") own.left = undefined;
    joinScopes(scope, [forkScope(scope), own]);
  }
  return together(claims);
}

function assignLoopVariable({ name, texts }: LoopVariable, { variables }: ShellScope): void {
  const values = texts ?? variables.get("@");
  if (values === undefined) variables.delete(name.value);
  else variables.set(name.value, values);
}

function withInput(input: readonly Text[] | undefined, scope: ShellScope, run: () => Claim): Claim {
  if (input === undefined) return run();
  const { input: outer } = scope;
  scope.input = input;
  const claim = run();
  scope.input = outer;
  return claim;
}
