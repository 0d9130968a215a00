import { type Claim, noEffect } from "../claim.ts";
import { unknownWrite } from "./claims.ts";
import type { Assignment } from "./parse.ts";
import type { ShellScope } from "./scope.ts";
import { combine, wild, type Text } from "./text.ts";
import { expand, expandAll } from "./words.ts";

/** Remembers what a variable holds from here on. */
export function assign({ name, value, append, index }: Assignment, scope: ShellScope): void {
  const isArray = value.type === "ArrayValue";
  const texts = isArray ? expandAll(value.elements, scope) : expand(value, scope);
  const before = scope.variables.get(name);
  if (index !== undefined || (append === true && isArray)) set(name, before && [...before, ...texts], scope);
  else if (append === true) set(name, before && combine(before, texts), scope);
  else set(name, texts, scope);
}

export function set(name: string, texts: readonly Text[] | undefined, { variables }: ShellScope): void {
  if (texts === undefined) variables.delete(name);
  else variables.set(name, texts);
}

/** Runs with these variables free to change, and puts back what they held before. */
export function keeping<T>(isKept: (name: string) => boolean, { variables }: ShellScope, run: () => T): T {
  const before = [...variables].filter(([name]) => isKept(name));
  const result = run();
  forget(isKept, variables);
  for (const [name, texts] of before) variables.set(name, texts);
  return result;
}

function forget(isForgotten: (name: string) => boolean, variables: ShellScope["variables"]): void {
  for (const name of variables.keys()) if (isForgotten(name)) variables.delete(name);
}

export function isPositional(name: string): boolean {
  return /^(\d+|@)$/.test(name);
}

/** Binds `$@`, `$1`, `$2` and so on. */
export function setPositional(args: readonly Text[], { variables }: ShellScope): void {
  forget(isPositional, variables);
  variables.set("@", args);
  for (const [index, text] of args.entries()) variables.set(String(index + 1), [text]);
}

/** After a `shift` each may be any of them. */
export function shiftPositional({ variables }: ShellScope): void {
  const all = variables.get("@");
  if (all === undefined) return;
  forget(isPositional, variables);
  variables.set("@", all);
  for (const index of all.keys()) variables.set(String(index + 1), all);
}

/**
 * Variables that make a harmless program do something else: run another program as its pager, load another library, be
 * found in another directory.
 */
const steering =
  /^(PATH|ENV|BASH_ENV|SHELL|EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|PROMPT_COMMAND|PS4|LD_.*|DYLD_.*|GIT_.*|(.*_)?PAGER|.*_OPTIONS|.*_CONFIG_PATH|PYTHON.*|PERL5.*|RUBY.*)$/;
const harmless = /^((.*_)?PAGER=(cat)?|GIT_(OPTIONAL_LOCKS|TERMINAL_PROMPT|CONFIG_NOSYSTEM)=.*)$/s;

/** Judges an assignment by its meaning for the programs that see the variable. */
export function steer(name: string, { head, rest }: Text): Claim {
  if (!steering.test(name)) return noEffect;
  return rest === "none" && harmless.test(`${name}=${head}`) ? noEffect : unknownWrite;
}

export function steerBy({ name, value }: Assignment, scope: ShellScope): Claim {
  if (!steering.test(name)) return noEffect;
  const [text = wild, ...others] = value.type === "Word" ? expand(value, scope) : [];
  return steer(name, others.length === 0 ? text : wild);
}
