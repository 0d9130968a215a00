import { visibleLine } from "../visible.ts";

/** The end of what a server's program printed beside its messages: the reason when it fails. */
export function serverLog() {
  const decoder = new TextDecoder();
  let text = "";
  return {
    add(printed: Uint8Array | string): void {
      text +=
        typeof printed === "string"
          ? printed.slice(-mostCharacters)
          : decoder.decode(printed.subarray(-mostCharacters), { stream: true });
      // Not each time: a copy of all of it for each line would be garbage faster than it is collected.
      if (text.length > 8 * mostCharacters) text = text.slice(-mostCharacters);
    },
    /** The last lines as one. */
    last(): string {
      const lines = text.split("\n").map((line) => line.trim());
      const said = lines.filter((line) => line !== "").slice(-mostLines);
      return visibleLine(said.join(" | ")).slice(-mostShown);
    },
  };
}

const mostCharacters = 8_192;
const mostLines = 3;
const mostShown = 400;
