import { KodaError } from "../errors.ts";

/** One server-sent event: its `data`, which is JSON or the word [DONE]. The event's name is in the JSON as well. */
export type Frame = string;

/** Puts the pieces that the network delivers together to whole frames. */
export class FrameReader {
  #rest = "";
  #decoder = new TextDecoder();

  /** The frames that are complete with these bytes. */
  read(bytes: Uint8Array): Frame[] {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    // A carriage return at the very end may be the first half of a line end: it waits for the rest.
    if (this.#rest.includes("\r")) this.#rest = this.#rest.replace(/\r\n|\r(?!$)/g, "\n");
    const end = this.#rest.lastIndexOf("\n\n");
    if (end < 0) {
      if (this.#rest.length > longestFrame) throw tooLong();
      return [];
    }
    const whole = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end + 2);
    return framesIn(whole);
  }

  /** What a server left without its blank line when it closed the stream. */
  end(): Frame[] {
    const rest = this.#rest.trim();
    this.#rest = "";
    return framesIn(rest);
  }
}

/** Far beyond any reply's size: whoever sends more without an end is no model. */
const longestFrame = 32 * 1024 * 1024;

function tooLong(): KodaError {
  return new KodaError("stream", "The provider sent 32 MB without completing one frame", { retryable: true });
}

function framesIn(text: string): Frame[] {
  const frames: Frame[] = [];
  for (const block of text.split("\n\n")) {
    const data = block.startsWith("data: ") && !block.includes("\n") ? block.slice(6) : dataOf(block);
    if (data !== "") frames.push(data);
  }
  return frames;
}

/** The rare block of several lines: comments, an event's name, data that goes over several lines. */
function dataOf(block: string): string {
  const lines = block.split("\n").filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice(line.startsWith("data: ") ? 6 : 5)).join("\n");
}
