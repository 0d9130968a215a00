import type { Claim } from "../claim.ts";
import type { SyntaxNode } from "./parse.ts";
import type { ShellScope } from "./scope.ts";
import type { Text } from "./text.ts";

/** One program that a command runs, with its arguments expanded. */
export type ProgramCall = {
  readonly name: string;
  readonly args: readonly Text[];
  readonly scope: ShellScope;
  /** Judges a command line that this program runs. */
  run(line: readonly Text[], scope?: ShellScope): Claim;
  /** Judges text that this program gives to a shell. */
  script(text: Text, scope?: ShellScope): Claim;
};

export type ProgramRule = (call: ProgramCall) => Claim;

export type Interpreter = {
  source(source: string, scope: ShellScope): Claim;
  node(node: SyntaxNode, scope: ShellScope): Claim;
};
