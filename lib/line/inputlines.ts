import type { InputLine } from "../chat/door.ts";

const fence = '"""';

/** Puts typed lines together to inputs: `"""` opens and closes a block, a backslash at the end continues a line. */
export class InputLines {
  #lines: string[] = [];
  #isBlock = false;

  /** True when the input goes on with the next line. */
  get isOpen(): boolean {
    return this.#isBlock || this.#lines.length > 0;
  }

  /** The input that the line completes. */
  add(line: string): string | undefined {
    if (this.#isBlock) return this.#addToBlock(line);
    if (!this.isOpen && line.trimStart().startsWith(fence)) {
      this.#isBlock = true;
      const rest = line.trimStart().slice(fence.length);
      return rest.trim() === "" ? undefined : this.#addToBlock(rest);
    }
    const [backslashes = ""] = /\\*$/.exec(line) ?? [];
    const isContinued = backslashes.length % 2 === 1;
    this.#lines.push(isContinued ? line.slice(0, -1) : line);
    return isContinued ? undefined : this.rest();
  }

  /** The part of an input that is there, though it is not complete. */
  rest(): string {
    const text = this.#lines.join("\n");
    this.#lines = [];
    this.#isBlock = false;
    return text;
  }

  #addToBlock(line: string): string | undefined {
    const isLast = line.trimEnd().endsWith(fence);
    const text = isLast ? line.trimEnd().slice(0, -fence.length) : line;
    if (!isLast || text.trim() !== "") this.#lines.push(text);
    return isLast ? this.rest() : undefined;
  }
}

/** The inputs of a pipe. */
export async function* inputsOf(
  lines: AsyncIterable<InputLine>,
  onProblem: (problem: string) => Promise<void>,
): AsyncGenerator<string, void> {
  const input = new InputLines();
  for await (const line of lines) {
    if (typeof line !== "string") await onProblem(line.problem);
    else {
      const text = input.add(line.replace(/\r$/, ""));
      if (text !== undefined) yield text;
    }
  }
  if (input.isOpen) yield input.rest();
}
