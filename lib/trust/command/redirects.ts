import { type Claim, noEffect } from "../claim.ts";
import { remote, together } from "./claims.ts";
import type { Redirection } from "./parse.ts";
import type { ShellScope } from "./scope.ts";
import { writeToAll } from "./targets.ts";
import type { Text } from "./text.ts";
import { expand } from "./words.ts";

/** A redirection's own effect on files, whatever the command is. */
export function redirect(redirection: Redirection, scope: ShellScope): Claim {
  if (redirection.type !== "Redirect" || redirection.target === undefined) return noEffect;
  const targets = expand(redirection.target, scope);
  const { operator } = redirection;
  switch (operator) {
    case "<":
    case "<&":
      return together(targets.map(readFrom));
    case ">&":
      // `>&2` and `>&-` are about open files, `>& out` is an old spelling of `&> out`.
      return writeToAll(
        targets.filter(({ head, rest }) => rest !== "none" || !/^(\d+-?|-)$/.test(head)),
        scope,
      );
    case ">":
    case ">>":
    case ">|":
    case "&>":
    case "&>>":
    case "<>":
      return writeToAll(targets, scope);
    default:
      operator satisfies never;
      return noEffect;
  }
}

/** Bash opens a connection for these names, which are in no directory. */
function readFrom({ head }: Text): Claim {
  return /^\/dev\/(tcp|udp)\//.test(head) ? remote : noEffect;
}
