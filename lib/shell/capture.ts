/** One stream of a command, as much of it as is kept: `head`, then a gap of `total - kept` bytes, then `tail`. */
export type KeptStream = {
  head: Uint8Array;
  tail: Uint8Array;
  totalBytes: number;
  totalLines: number;
};
