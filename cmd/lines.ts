import type { InputLine } from "../lib/chat/door.ts";
import { decodeUtf8 } from "../lib/config/utf8.ts";
import { openReader } from "./bytes.ts";

/** Images are a part of their line. */
const longestLine = 32 * 1024 * 1024;

/** The lines of a stream as they come. The last one need not end. */
export async function* inputLines(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<InputLine, void> {
  const reader = openReader(stream, signal);
  let pieces: Uint8Array[] = [];
  let length = 0;
  const add = (piece: Uint8Array) => {
    length += piece.length;
    // A line that is too long is read and forgotten.
    if (length <= longestLine) pieces.push(piece);
    else pieces = [];
  };
  const end = (): InputLine => {
    const line = length > longestLine ? tooLong : lineOf(Buffer.concat(pieces));
    [pieces, length] = [[], 0];
    return line;
  };
  while (true) {
    const { done, value } = await reader.read();
    if (done) break;
    let from = 0;
    for (let at = value.indexOf(10); at !== -1; at = value.indexOf(10, from)) {
      add(value.subarray(from, at));
      from = at + 1;
      yield end();
    }
    add(value.subarray(from));
  }
  if (length > 0) yield end();
}

const tooLong: InputLine = { problem: `Cannot read the line: it is longer than ${longestLine / 1024 / 1024} MiB` };

function lineOf(bytes: Uint8Array): InputLine {
  return decodeUtf8(bytes) ?? { problem: "Cannot read the line: it is not UTF-8 text" };
}
