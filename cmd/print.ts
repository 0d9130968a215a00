import { exitByCode, KodaError } from "../lib/errors.ts";
import { visible, visibleMessage } from "../lib/visible.ts";
import { OutputStream } from "../lib/sink/output.ts";

/** Prints a command's whole output on stdout; throws when it cannot be written. */
export async function print(text: string): Promise<void> {
  const stdout = new OutputStream(1, "stdout");
  await stdout.write(text);
  await stdout.flush();
}

export function asJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** Prints an error on stderr and returns its exit code. */
export async function report(error: unknown): Promise<number> {
  const stderr = new OutputStream(2, "stderr");
  const text = errorText(error);
  try {
    if (text !== undefined) await stderr.write(`${text}\n`);
    await stderr.flush();
  } catch {
    // The exit code still reports the failure.
  }
  return error instanceof KodaError ? exitByCode[error.code] : exitByCode.internal;
}

/** A bug has a stack trace; nothing is printed when the reader of stdout has gone. */
function errorText(error: unknown): string | undefined {
  if (error instanceof KodaError)
    return error.code === "reader_gone" ? undefined : `koda: ${visibleMessage(error.message)}`;
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `koda: internal error, please report it\n${visible(trace)}`;
}
