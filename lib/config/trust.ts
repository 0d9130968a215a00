/**
 * The user's decision about the project's own files. Without trust (`--trust-project`) they can only tighten settings;
 * what is ignored for that reason is kept by name, for `session.start.skipped`.
 */
export class ProjectTrust {
  readonly isTrusted: boolean;
  readonly #skipped = new Set<string>();

  constructor(isTrusted: boolean) {
    this.isTrusted = isTrusted;
  }

  /** True when `name` may be used (`.koda/config.json: hooks`, `.koda/skills/deploy`); a refused one is recorded. */
  admits(name: string): boolean {
    if (!this.isTrusted) this.skip(name);
    return this.isTrusted;
  }

  /** Records a name that is ignored. */
  skip(name: string): void {
    this.#skipped.add(name);
  }

  get skipped(): readonly string[] {
    return [...this.#skipped];
  }
}
