/** A body as text. `note` says what could not be taken as it was meant. */
export type Decoded = { text: string; note: string | undefined };

/** `charset` as the head has it; a body that was cut may end within a character. */
type BodyEncoding = { charset: string | undefined; isCut: boolean };

/**
 * Decodes text as browsers do: its byte order mark goes first, then what the head says, then what the page says itself;
 * without a word it is UTF-8, or Windows-1252 where it cannot be.
 */
export function decodeText(bytes: Uint8Array, { charset, isCut }: BodyEncoding): Decoded {
  const label = markOf(bytes) ?? charset ?? declaredInside(bytes);
  if (label === undefined) return { text: guessed(bytes, isCut), note: undefined };
  const decoder = decoderOf(label);
  if (decoder !== undefined) return { text: decoder.decode(bytes), note: undefined };
  return { text: guessed(bytes, isCut), note: `its character set ${JSON.stringify(label)} is not known here` };
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return first === 0xff && second === 0xfe ? "utf-16le" : undefined;
}

/** As far as HTML lets a page take its time with it. */
const prescanned = 1024;

function declaredInside(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, prescanned)).toString("latin1");
  const [, label] =
    /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head) ??
    /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)/i.exec(head) ??
    [];
  // Whoever could read that in ASCII does not read UTF-16.
  return label !== undefined && /^utf-?16/i.test(label) ? "utf-8" : label;
}

function decoderOf(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label as never);
  } catch {
    // There is none by that name.
    return undefined;
  }
}

function guessed(bytes: Uint8Array, isCut: boolean): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    // The only thing that a strict decoder throws for.
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
