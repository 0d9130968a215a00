/** The bytes without a final character that was cut in the middle. */
export function wholeCharacters(bytes: Uint8Array): Uint8Array {
  // Continuation bytes begin with the bits 10; the lead byte has the length of the character.
  const lead = bytes.findLastIndex((byte) => (byte & 0xc0) !== 0x80);
  const first = bytes[lead] ?? 0;
  const length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return lead + length > bytes.length ? bytes.subarray(0, lead) : bytes;
}

/** The text without its byte order mark; undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The bytes with U+FFFD in place of those that are not UTF-8. */
export function replaceInvalid(bytes: Uint8Array): Uint8Array {
  return new TextEncoder().encode(new TextDecoder().decode(bytes));
}
