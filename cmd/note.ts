import { Output } from "../lib/sink/output.ts";

/** Says something on stderr before a run has events for it. */
export type Note = (text: string) => void;

/** A note is for people: when it cannot be written, nothing is lost that a run depends on. */
export function openNote({ quiet = false }: { quiet?: boolean } = {}): Note {
  if (quiet) return () => {};
  return (text) => {
    new Output(2, "stderr").write(`koda: ${text}\n`).catch(() => undefined);
  };
}
