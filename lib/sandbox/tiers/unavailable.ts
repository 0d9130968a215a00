/** A tier cannot be had here. The message is the reason, as the rest of a sentence; `fix` says what would help. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
  readonly fix: string | undefined;

  constructor(reason: string, fix?: string) {
    super(reason);
    this.fix = fix;
  }
}
