/** The bytes without a last character that a cut has left unfinished. */
export function wholeCharacters(bytes: Uint8Array): Uint8Array {
  // All bytes of a character but the first begin with the bits 10, and the first says how many there are.
  const lead = bytes.findLastIndex((byte) => (byte & 0xc0) !== 0x80);
  const first = bytes[lead] ?? 0;
  const length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return lead + length > bytes.length ? bytes.subarray(0, lead) : bytes;
}

/** The text, without its byte order mark; undefined when the bytes are none. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
