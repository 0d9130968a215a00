export { forEachChild, parse } from "unbash";
export type { ArrayValue, Command, Redirection, SyntaxNode, Word, WordPart } from "unbash";
