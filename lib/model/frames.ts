import { brokenStream } from "./failure.ts";

/** The `data` of a server-sent event: JSON, or the word [DONE]. The JSON repeats the event's name. */
export type Frame = string;

/** Splits a stream of bytes into frames. */
export class FrameReader {
  #decoder = new TextDecoder();
  /** A carriage return at the end of a chunk, which may be the first half of a line end. */
  #held = "";
  /** The beginning of a frame in pieces: a long frame is joined once, not with every piece. */
  #pieces: string[] = [];
  #length = 0;
  /** All bytes so far. */
  #total = 0;

  /** The frames that these bytes complete. */
  read(bytes: Uint8Array): Frame[] {
    this.#total += bytes.length;
    if (this.#total > longestStream) throw brokenStream("The provider sent 256 MB without ending its reply");
    const piece = this.#lines(this.#decoder.decode(bytes, { stream: true }));
    const touches = piece.startsWith("\n") && this.#pieces.at(-1)?.endsWith("\n");
    this.#length += piece.length;
    if (piece !== "") this.#pieces.push(piece);
    if (!touches && !piece.includes("\n\n")) {
      if (this.#length > longestFrame) throw brokenStream("The provider sent 32 MB without completing one frame");
      return [];
    }

    const text = this.#pieces.join("");
    const end = text.lastIndexOf("\n\n");
    const rest = text.slice(end + 2);
    this.#pieces = rest === "" ? [] : [rest];
    this.#length = rest.length;
    return framesIn(text.slice(0, end));
  }

  /** A last frame without its blank line. */
  end(): Frame[] {
    return framesIn(this.#pieces.splice(0).join("").trim());
  }

  #lines(decoded: string): string {
    if (this.#held === "" && !decoded.includes("\r")) return decoded;
    const text = this.#held + decoded;
    this.#held = text.endsWith("\r") ? "\r" : "";
    return text.slice(0, text.length - this.#held.length).replace(/\r\n?/g, "\n");
  }
}

/** Far more than any reply has: the longest ones, of a few bytes a frame, come to 50 MB. */
const longestFrame = 32 * 1024 * 1024;
const longestStream = 256 * 1024 * 1024;

function framesIn(text: string): Frame[] {
  const frames: Frame[] = [];
  let start = 0;
  while (start < text.length) {
    const line = text.indexOf("\n", start);
    const isSingle = line < 0 || text[line + 1] === "\n";
    const blank = isSingle ? line : text.indexOf("\n\n", start);
    const end = blank < 0 ? text.length : blank;
    const isPlain = isSingle && text.startsWith("data: ", start);
    const data = isPlain ? text.slice(start + 6, end) : dataOf(text.slice(start, end));
    if (data !== "") frames.push(data);
    start = end + 2;
  }
  return frames;
}

/** The rare block of several lines: comments, an event's name, data over several lines. */
function dataOf(block: string): string {
  const lines = block.split("\n").filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice(line.startsWith("data: ") ? 6 : 5)).join("\n");
}
