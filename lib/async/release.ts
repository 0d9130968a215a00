/**
 * Gives the memory of bytes back that nobody uses any more. Not left to the garbage collector, which lets tens of
 * megabytes of what was read pile up before it looks. A view of something larger is left alone.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached && buffer.byteLength === byteLength) buffer.transfer(0);
}
