/**
 * Frees the memory of bytes that are no longer used. The garbage collector would let tens of megabytes pile up first. A
 * view of a larger buffer is left alone.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached && buffer.byteLength === byteLength) buffer.transfer(0);
}
