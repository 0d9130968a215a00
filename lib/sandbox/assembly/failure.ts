/** The exit code of a program that could not be set up: never one that the command itself would choose. */
export const setupFailed = 126;

const saidByProgram = /koda sandbox: (.+) failed, errno (\d+)/;

/** What a program of ours says when one of its steps failed, which is never the command's own failure. */
export function failedStep(text: string): { step: string; errno: number } | undefined {
  const [, step, errno] = saidByProgram.exec(text) ?? [];
  return step === undefined ? undefined : { step, errno: Number(errno) };
}
