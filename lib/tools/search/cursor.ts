/** A place in a pattern that is being read. */
export type Cursor = { readonly text: string; at: number };

/** A pattern that cannot be used, and where it goes wrong. */
export class PatternFault extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** The next character, not half of one; nothing at the end. */
export function peek({ text, at }: Cursor): string {
  const code = text.codePointAt(at);
  return code === undefined ? "" : String.fromCodePoint(code);
}

export function take(cursor: Cursor): string {
  const char = peek(cursor);
  cursor.at += char.length;
  return char;
}

export function takeIf(cursor: Cursor, wanted: string): boolean {
  if (!cursor.text.startsWith(wanted, cursor.at)) return false;
  cursor.at += wanted.length;
  return true;
}

/** Takes everything up to and with the next `end`, and gives it without that. */
export function takeUntil(cursor: Cursor, end: string): string | undefined {
  const found = cursor.text.indexOf(end, cursor.at);
  if (found === -1) return undefined;
  const taken = cursor.text.slice(cursor.at, found);
  cursor.at = found + end.length;
  return taken;
}
