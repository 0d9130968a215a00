import { exits } from "../../../cmd/exits.ts";
import { type ErrorCode, exitByCode } from "../../../lib/errors.ts";
import { code, tableOf } from "./markdown.ts";

export const failureParts = {
  exits: () =>
    tableOf(
      ["exit", "", "error.code"],
      exits.map(([exit, meaning]) => [String(exit), `${meaning}.`, codesOf(exit).map(linked).join(", ")]),
    ),
} as const;

function codesOf(exit: number): ErrorCode[] {
  return (Object.keys(exitByCode) as ErrorCode[]).filter((name) => exitByCode[name] === exit);
}

/** Each code has a heading of its own on the page. */
function linked(name: string): string {
  return `[${code(name)}](#${name})`;
}
