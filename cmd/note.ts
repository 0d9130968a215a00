import { OutputStream } from "../lib/sink/output.ts";
import { visibleLine } from "../lib/visible.ts";

/** Prints a note on stderr before a run has events. */
type Note = (text: string) => void;

export function openNote({ quiet = false }: { quiet?: boolean } = {}): Note {
  return quiet ? () => {} : (text) => void printNote(`koda: ${text}`);
}

/** The lines of a message, to be printed one by one: the later ones are set in. */
export function messageLines(text: string): string[] {
  return text
    .trim()
    .split("\n")
    .map((line, index) => (index === 0 ? line : `  ${line.trim()}`));
}

/** Prints lines for people on stderr; no command depends on them, so errors are ignored. */
export async function printNote(...lines: readonly string[]): Promise<void> {
  const stderr = new OutputStream(2, "stderr");
  await stderr.write(lines.map((line) => `${visibleLine(line)}\n`).join("")).catch(() => undefined);
  await stderr.flush().catch(() => undefined);
}
