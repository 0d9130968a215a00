import type { Claim } from "../claim.ts";
import type { SyntaxNode } from "./parse.ts";
import type { Scope } from "./scope.ts";
import type { Text } from "./text.ts";

/** One program that a command runs, with its arguments expanded. */
export type Call = {
  readonly name: string;
  readonly args: readonly Text[];
  readonly scope: Scope;
  /** Judges a command line that this program runs. */
  run(line: readonly Text[], scope?: Scope): Claim;
  /** Judges text that this program gives to a shell. */
  script(text: Text, scope?: Scope): Claim;
};

export type Program = (call: Call) => Claim;

export type Interpreter = {
  source(source: string, scope: Scope): Claim;
  node(node: SyntaxNode, scope: Scope): Claim;
};
