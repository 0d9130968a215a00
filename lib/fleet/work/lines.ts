const newline = 0x0a;

/** A line that is longer is left out: what a worker reads of a run is never as long. */
const longestLine = 64 * 1024 * 1024;

/** The lines of a stream as they come, in bounded memory; with `isFile` the last one needs no line feed. */
export async function* linesFrom(
  stream: ReadableStream<Uint8Array>,
  { most = longestLine, isFile = false } = {},
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    let at = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, at)) {
      const last = chunk.subarray(at, end);
      if (length + last.length <= most) yield decoder.decode(Buffer.concat([...pieces, last]));
      [pieces, length, at] = [[], 0, end + 1];
    }
    const rest = chunk.subarray(at);
    length += rest.length;
    if (length <= most) pieces.push(rest);
    else pieces = [];
  }
  if (isFile && length > 0 && length <= most) yield decoder.decode(Buffer.concat(pieces));
}
