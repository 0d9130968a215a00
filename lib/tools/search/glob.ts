import { compileWildcards } from "./wildcards.ts";

/**
 * One reading of globs for Glob's pattern and Grep's filter, as in .gitignore: a glob without a slash is about names at
 * any depth, one with a slash about the path from where the search begins. `**`, `*`, `?`, `[a-z]` and `{a,b}`.
 * Undefined when its braces stand for too many alternatives.
 */
export function globMatcher(glob: string): ((path: string) => boolean) | undefined {
  const plain = glob.replace(/^(\.?\/)+/, "");
  const alternatives = alternativesOf(glob.includes("/") ? plain : `**/${plain}`);
  if (alternatives === undefined) return undefined;
  const compiled = alternatives.map(compileWildcards);
  return (path) => {
    const names = path.split("/");
    return compiled.some((matches) => matches(names));
  };
}

/**
 * Grep's filter: a leading `!` excludes. A path counts from the search's base or from the project, since models write
 * both `{path: "src", glob: "src/*.ts"}` and `{path: "src", glob: "*.ts"}`.
 */
export function globFilter(glob: string, { prefix }: { prefix: string }): ((path: string) => boolean) | undefined {
  const excludes = glob.startsWith("!");
  const matches = globMatcher(excludes ? glob.slice(1) : glob);
  return matches && ((path) => (matches(path) || matches(prefix + path)) !== excludes);
}

const mostAlternatives = 1000;

export function tooManyAlternatives(glob: string): string {
  return `"${glob}" has more than ${mostAlternatives} alternatives in its braces: use a wider glob.`;
}

/** The globs without braces that a glob with braces stands for. A brace without a partner is a character. */
function alternativesOf(glob: string): readonly string[] | undefined {
  // A set hands out what is added to it on the way, and each once.
  const all = new Set([glob]);
  const found: string[] = [];
  for (const next of all) {
    const braces = innermostBraces(next);
    if (braces === undefined) found.push(next);
    else for (const choice of braces.choices) all.add(next.slice(0, braces.begin) + choice + next.slice(braces.end));
    if (all.size > mostAlternatives) return undefined;
  }
  return found;
}

type Braces = { begin: number; end: number; choices: readonly string[] };

/** The first pair of braces in which there are no others. */
function innermostBraces(glob: string): Braces | undefined {
  let marks: number[] = [];
  for (let at = 0; at < glob.length; at++) {
    if (glob[at] === "\\") at++;
    else if (glob[at] === "{") marks = [at];
    else if (marks.length > 0 && glob[at] === ",") marks.push(at);
    else if (marks[0] !== undefined && glob[at] === "}") {
      const ends = [...marks.slice(1), at];
      return { begin: marks[0], end: at + 1, choices: marks.map((mark, index) => glob.slice(mark + 1, ends[index])) };
    }
  }
  return undefined;
}

/** The directory that a glob names before its first wildcard: a search can begin there, wherever that is. */
export function splitGlob(glob: string): { directory: string; rest: string } {
  const wild = glob.search(/[*?[{\\!]/);
  const slash = glob.lastIndexOf("/", wild === -1 ? glob.length : wild);
  if (slash === -1) return { directory: ".", rest: glob };
  return { directory: slash === 0 ? "/" : glob.slice(0, slash), rest: `./${glob.slice(slash + 1)}` };
}
