/**
 * One reading of globs for Glob's pattern and Grep's filter, as in .gitignore: a glob without a slash is about names at
 * any depth, one with a slash about the path from where the search begins. `**`, `*`, `?`, `[a-z]` and `{a,b}`.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const plain = glob.replace(/^(\.?\/)+/, "");
  const compiled = new Bun.Glob(glob.includes("/") ? plain : `**/${plain}`);
  return (path) => compiled.match(path);
}

/**
 * Grep's filter: a leading `!` excludes. A path counts from the search's base or from the project, since models write
 * both `{path: "src", glob: "src/*.ts"}` and `{path: "src", glob: "*.ts"}`.
 */
export function globFilter(glob: string, { prefix }: { prefix: string }): (path: string) => boolean {
  const excludes = glob.startsWith("!");
  const matches = globMatcher(excludes ? glob.slice(1) : glob);
  return (path) => (matches(path) || matches(prefix + path)) !== excludes;
}

/** The directory that a glob names before its first wildcard: a search can begin there, wherever that is. */
export function splitGlob(glob: string): { directory: string; rest: string } {
  const wild = glob.search(/[*?[{\\!]/);
  const slash = glob.lastIndexOf("/", wild === -1 ? glob.length : wild);
  if (slash === -1) return { directory: ".", rest: glob };
  return { directory: slash === 0 ? "/" : glob.slice(0, slash), rest: `./${glob.slice(slash + 1)}` };
}
