export { forEachChild, parse } from "unbash";
export type { Command, Redirection, SyntaxNode, Word, WordPart } from "unbash";
