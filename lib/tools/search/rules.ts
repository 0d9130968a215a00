import { existsSync } from "node:fs";
import { join } from "node:path";
import { ancestors } from "../../files/path.ts";
import { readSmallText } from "../../files/read.ts";
import { gitPlaces } from "../../git/places.ts";
import { compileWildcards } from "./wildcards.ts";

/**
 * The ignore rules that hold in one directory: those of `.gitignore` files from `top` down to it, and of the
 * repository's `info/exclude`. Rules of a user's global git configuration are left out: the same project shows the same
 * files on every machine.
 */
export type IgnoreRules = {
  readonly top: string;
  readonly inRepository: boolean;
  /** Every pattern, the weakest first, written as if all of them stood in one `.gitignore` at `top`. */
  readonly patterns: readonly string[];
  /** The same, compiled and the strongest first. */
  readonly rules: readonly Rule[];
};

/** An ignore rule: the last one that matches decides. */
type Rule = {
  isNegated: boolean;
  directoriesOnly: boolean;
  /** About the path from `top`, not about the last name of it. */
  isTied: boolean;
  matches: (names: readonly string[]) => boolean;
};

/** The names in a directory that decide about its rules, for one that was not listed. */
export function marksIn(directory: string): string[] {
  return [".gitignore", ".git", ".jj"].filter((name) => existsSync(join(directory, name)));
}

export function isRepository(names: readonly string[]): boolean {
  return names.includes(".git") || names.includes(".jj");
}

/** The rules in a directory where nothing comes from above. */
export function rulesFrom(top: string, names: readonly string[]): IgnoreRules {
  const patterns = [...excludedPatterns(top, names), ...ownPatterns(top, names)];
  return rulesOf(patterns, { top, inRepository: isRepository(names) });
}

/**
 * The rules in a directory, given those of its parent. A repository in a repository has its own rules only; one in
 * something that is none adds them to those around it, since ripgrep can be had to do that and no better.
 */
export function rulesIn(directory: string, names: readonly string[], parent: IgnoreRules): IgnoreRules {
  if (parent.inRepository && isRepository(names)) return rulesFrom(directory, names);
  const place = relativeTo(parent.top, directory);
  const moved = (patterns: readonly string[]) => patterns.map((pattern) => movedBelow(place, pattern));
  const excluded = moved(excludedPatterns(directory, names));
  const own = moved(ownPatterns(directory, names));
  return excluded.length + own.length === 0 ? parent : rulesOf([...excluded, ...parent.patterns, ...own], parent);
}

/**
 * The rules that come to `base` from the directories between it and `top`; none when they ignore it or are not there.
 */
export function rulesAbove(base: string, top: string): IgnoreRules | undefined {
  const lineage = ancestors(base);
  const [first, ...below] = lineage.slice(0, lineage.indexOf(top) + 1).reverse();
  if (first === undefined || below.length === 0) return undefined;
  let rules = rulesFrom(first, marksIn(first));
  for (const directory of below) {
    if (isIgnored(rules, directory, true)) return undefined;
    if (directory !== base) rules = rulesIn(directory, marksIn(directory), rules);
  }
  return rules.patterns.length === 0 ? undefined : rules;
}

/**
 * The rules that ripgrep does not find by itself when it searches in `base`: outside of a repository those from above,
 * in one those that are not shared, since a `.git` that is a file leads it astray. They are told as a `.gitignore` in
 * `directory` has them, which is `top` or lies above it.
 */
export function rulesFromAbove({ base, top, rulesOutside }: AboveScope, directory: string): string {
  const place = relativeTo(directory, top);
  const patterns = rulesOutside ? rulesAbove(base, top)?.patterns : excludedPatterns(top, marksIn(top));
  return (patterns ?? []).map((pattern) => `${place === "" ? pattern : movedBelow(place, pattern)}\n`).join("");
}

type AboveScope = { base: string; top: string; rulesOutside: boolean };

/** Only for paths whose directory is not ignored itself. */
export function isIgnored({ top, rules }: IgnoreRules, path: string, isDirectory: boolean): boolean {
  if (rules.length === 0) return false;
  const names = relativeTo(top, path).split("/");
  const last = names.slice(-1);
  const decisive = rules.find(
    ({ directoriesOnly, isTied, matches }) => (isDirectory || !directoriesOnly) && matches(isTied ? names : last),
  );
  return decisive?.isNegated === false;
}

function rulesOf(
  patterns: readonly string[],
  { top, inRepository }: Pick<IgnoreRules, "top" | "inRepository">,
): IgnoreRules {
  return { top, inRepository, patterns, rules: patterns.map(ruleOf).reverse() };
}

function ruleOf(pattern: string): Rule {
  const isNegated = pattern.startsWith("!");
  const directoriesOnly = pattern.endsWith("/");
  const body = pattern.slice(isNegated ? 1 : 0, directoriesOnly ? -1 : undefined);
  return { isNegated, directoriesOnly, isTied: body.includes("/"), matches: compileWildcards(body.replace(/^\//, "")) };
}

function ownPatterns(directory: string, names: readonly string[]): string[] {
  return names.includes(".gitignore") ? readPatterns(join(directory, ".gitignore")) : [];
}

/** The rules that are not shared. */
function excludedPatterns(directory: string, names: readonly string[]): string[] {
  const places = names.includes(".git") ? gitPlaces(directory) : undefined;
  return places === undefined ? [] : readPatterns(join(places.common, "info/exclude"));
}

function readPatterns(file: string): string[] {
  return readSmallText(file, { isReal: true })
    .split(/\r?\n/)
    .filter((line) => !line.startsWith("#"))
    .map(withoutBlanks)
    .filter((pattern) => pattern !== "");
}

/** Blanks at the end are no part of a pattern, unless they are escaped. */
function withoutBlanks(line: string): string {
  let end = 0;
  for (let at = 0; at < line.length; at++)
    if (line[at] === "\\") end = ++at + 1;
    else if (line[at] !== " ") end = at + 1;
  return line.slice(0, end);
}

/** Says in the terms of a directory above what a pattern says in the directory `place` below it. */
function movedBelow(place: string, pattern: string): string {
  const negated = pattern.startsWith("!");
  const body = negated ? pattern.slice(1) : pattern;
  // A slash anywhere but at the end ties a pattern to its directory; without one it holds at any depth.
  const isTied = body.slice(0, -1).includes("/");
  const tied = isTied ? body.replace(/^\//, "") : `**/${body}`;
  return `${negated ? "!" : ""}/${place.replace(/[\\*?[\]!# ]/g, "\\$&")}/${tied}`;
}

export function relativeTo(top: string, path: string): string {
  return path.slice(top === "/" ? 1 : top.length + 1);
}
