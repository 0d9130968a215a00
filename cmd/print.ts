import { exitByCode, KodaError } from "../lib/errors.ts";
import { OutputStream } from "../lib/sink/output.ts";

/** Prints a command's whole answer on stdout. Throws when it did not get out. */
export async function print(text: string): Promise<void> {
  const stdout = new OutputStream(1, "stdout");
  await stdout.write(text);
  await stdout.flush();
}

/** A command's answer for scripts. */
export function asJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** Says on stderr what went wrong, in words for a person; returns the exit code. */
export async function report(error: unknown): Promise<number> {
  const stderr = new OutputStream(2, "stderr");
  const text = complaint(error);
  try {
    if (text !== undefined) await stderr.write(`${text}\n`);
    await stderr.flush();
  } catch {
    // Nobody can be told that nobody can be told; the exit code still says it.
  }
  return error instanceof KodaError ? exitByCode[error.code] : exitByCode.internal;
}

/** A bug shows its stack; what a user can act on does not; about a reader that left there is nothing to say. */
function complaint(error: unknown): string | undefined {
  if (error instanceof KodaError) return error.code === "reader_gone" ? undefined : `koda: ${error.message}`;
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `koda: internal error, please report it\n${trace}`;
}
