import { posix } from "node:path";
import { shellQuoted } from "../../quote.ts";
import { type Claim, noEffect } from "../claim.ts";
import { nothing, together, unknownWrite } from "./claims.ts";
import { inputFrom } from "./output.ts";
import type { Assignment, Command } from "./parse.ts";
import type { Interpreter } from "./program.ts";
import { programNamed } from "./programs.ts";
import { redirect } from "./redirects.ts";
import { deeper, type ShellScope } from "./scope.ts";
import { unknownProgram } from "./targets.ts";
import { append, exact, type Text } from "./text.ts";
import { assign, isPositional, keeping, setPositional, shiftPositional, steerBy } from "./variables.ts";
import { expand, expandAll } from "./words.ts";

/** Judges one simple command: its assignments, its redirections, and the program that it runs. */
export function runCommand(command: Command, scope: ShellScope, interpreter: Interpreter): Claim {
  const assignments = command.prefix.filter((part) => part.type === "Assignment");
  const around = [
    ...command.redirects.map((redirection) => redirect(redirection, scope)),
    ...assignments.map((assignment) => steerBy(assignment, scope)),
  ];
  if (command.name === undefined) {
    for (const assignment of assignments) assign(assignment, scope);
    return together(around);
  }

  const names = expand(command.name, scope);
  const args = command.args.flatMap((arg) => (arg.type === "Word" ? expand(arg, scope) : declarations(arg, scope)));
  const { input } = scope;
  scope.input = inputFrom(command.redirects, scope, expand) ?? input;
  const assigned = new Set(assignments.map(({ name }) => name));
  const claim = keeping(
    (name) => assigned.has(name),
    scope,
    () => {
      for (const assignment of assignments) assign(assignment, scope);
      return runAnyOf(names, args, { scope, interpreter, aligned: args.length === command.args.length });
    },
  );
  scope.input = input;
  return together([...around, claim]);
}

/** An assignment among the arguments of `export` and its like, as that builtin gets it. */
function declarations({ name, append: appends, value }: Assignment, scope: ShellScope): readonly Text[] {
  const start = exact(`${name}${appends === true ? "+" : ""}=`);
  const texts = value.type === "ArrayValue" ? expandAll(value.elements, scope) : expand(value, scope);
  return texts.map((text) => append(start, text));
}

/** `aligned`: each argument came from a word of its own, so that they can be counted. */
type Running = { scope: ShellScope; interpreter: Interpreter; aligned?: boolean };

/** A name that may be several words, or one of several, is looked at in every way it could be read. */
function runAnyOf(names: readonly Text[], args: readonly Text[], running: Running): Claim {
  if (names.length <= 1) return runLine([...names, ...args], running);
  return together(names.map((_, index) => runLine([...names.slice(index), ...args], running)));
}

function runLine([name, ...args]: readonly Text[], running: Running): Claim {
  if (name === undefined) return noEffect;
  const { scope } = running;
  const body = name.rest === "none" ? scope.functions.get(name.head) : undefined;
  if (body !== undefined) return callFunction(name.head, args, running);
  const alias = name.rest === "none" ? scope.aliases.get(name.head) : undefined;
  if (alias !== undefined) return expandAlias(name.head, args, running);
  return runProgram([name, ...args], running);
}

/** While it runs the function is not known, so one that calls itself ends as an unknown program. */
function callFunction(name: string, args: readonly Text[], { scope, interpreter, aligned }: Running): Claim {
  const body = scope.functions.get(name);
  if (body === undefined) return unknownWrite;
  scope.functions.delete(name);
  const claim = keeping(isPositional, scope, () => {
    setPositional(args, scope);
    if (aligned !== true) shiftPositional(scope);
    return interpreter.node(body, scope);
  });
  if (scope.left !== "shell") scope.left = undefined;
  scope.functions.set(name, body);
  return claim;
}

function expandAlias(name: string, args: readonly Text[], { scope, interpreter }: Running): Claim {
  const alias = scope.aliases.get(name);
  if (alias === undefined) return unknownWrite;
  scope.aliases.delete(name);
  const claim = interpreter.source([alias, ...args.map(quoted)].join(" "), scope);
  scope.aliases.set(name, alias);
  return claim;
}

/** The text as source again; `$_` is not known, and so stands for what is not known. */
function quoted({ head, rest }: Text): string {
  const text = shellQuoted(head);
  return rest === "none" ? text : `${text}"$_"`;
}

function runProgram([path, ...args]: readonly Text[], { scope, interpreter }: Running): Claim {
  if (path === undefined) return noEffect;
  if (path.rest !== "none") return unknownProgram(scope);

  const name = posix.basename(path.head);
  const claim = programNamed(name)({
    name,
    args,
    scope,
    run: (line, inner = scope) => deeper(scope, () => runProgram(line, { scope: inner, interpreter })) ?? unknownWrite,
    script: (text, inner = scope) => runText(text, { scope: inner, interpreter }),
  });
  return isSystemProgram(path.head) ? claim : together([claim, unknownProgram(scope)]);
}

/** `./ls` is any program, and `/bin/ls` is `ls`. */
function isSystemProgram(path: string): boolean {
  return !path.includes("/") || /^(\/usr|\/usr\/local|\/opt\/homebrew)?\/s?bin\/[^/]*$/.test(path);
}

/** Text that is not wholly known may do anything, and may still begin with something that no one wants. */
function runText({ head, rest }: Text, { scope, interpreter }: Running): Claim {
  const claim = interpreter.source(head, scope);
  return rest === "none" ? claim : together([claim, unknownWrite]);
}
