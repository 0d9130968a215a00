/** The exit code of a program that could not be set up: never one that the command itself would choose. */
export const setupFailed = 126;

/** A step of one of koda's programs that the kernel refused. */
export type FailedStep = { step: string; errno: number };

const saidByProgram = /koda sandbox: (.+) failed, errno (\d+)/;

/** Finds the message of a program of ours whose step failed, which is never the command's own failure. */
export function failedStep(text: string): FailedStep | undefined {
  const [, step, errno] = saidByProgram.exec(text) ?? [];
  return step === undefined ? undefined : { step, errno: Number(errno) };
}
