import { KodaError } from "../lib/errors.ts";
import { decodeUtf8 } from "../lib/config/utf8.ts";

/** Decodes UTF-8, or UTF-16 with a byte order mark, which is removed. */
export function decodeInput(bytes: Uint8Array, name: string): string {
  const text = isUtf16(bytes) ? decodeUtf16(bytes) : decodeUtf8(bytes);
  if (text !== undefined) return text;
  throw new KodaError("usage", `Cannot read ${name}: it is not UTF-8 text (iconv can convert it)`);
}

/** FF FE 00 00 is UTF-32. */
function isUtf16([first, second, third, fourth]: Uint8Array): boolean {
  const isLittle = first === 0xff && second === 0xfe && !(third === 0 && fourth === 0);
  return isLittle || (first === 0xfe && second === 0xff);
}

function decodeUtf16(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(bytes[0] === 0xff ? "utf-16le" : "utf-16be", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
