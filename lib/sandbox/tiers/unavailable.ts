/** A tier cannot be had here. The message is the reason, as the rest of a sentence; `fix` says what would help. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
  readonly fix: string | undefined;

  constructor(reason: string, fix?: string) {
    super(reason);
    this.fix = fix;
  }
}

const saidByProgram = /koda sandbox: (.+) failed, errno (\d+)/;

/** What a program of ours says when one of its steps failed, which is never the command's own failure. */
export function failedStep(text: string): { step: string; errno: number } | undefined {
  const [, step, errno] = saidByProgram.exec(text) ?? [];
  return step === undefined ? undefined : { step, errno: Number(errno) };
}
