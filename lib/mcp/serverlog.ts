import { visibleLine } from "../visible.ts";

/** The end of what a server's program printed beside its messages: the reason when it fails. */
export function serverLog() {
  const decoder = new TextDecoder();
  let text = "";
  return {
    add(bytes: Uint8Array): void {
      text = (text + decoder.decode(bytes, { stream: true })).slice(-mostCharacters);
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
