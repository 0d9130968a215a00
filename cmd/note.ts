import { OutputStream } from "../lib/sink/output.ts";

/** Says something on stderr before a run has events for it. */
export type Note = (text: string) => void;

export function openNote({ quiet = false }: { quiet?: boolean } = {}): Note {
  return quiet ? () => {} : (text) => void aside(`koda: ${text}`);
}

/** A line for people: when it cannot be written, nothing is lost that a command depends on. */
export async function aside(line: string): Promise<void> {
  const stderr = new OutputStream(2, "stderr");
  await stderr.write(`${line}\n`).catch(() => undefined);
  await stderr.flush().catch(() => undefined);
}
