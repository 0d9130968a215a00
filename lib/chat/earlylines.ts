import { Mailbox } from "../async/mailbox.ts";
import type { ChatLine } from "./door.ts";

/** The lines of a chat, which may come before it is open: an interrupt among them ends the start of its servers. */
export class EarlyLines {
  readonly #lines = new Mailbox<ChatLine>();
  readonly #start = new AbortController();
  readonly #reading: Promise<void>;
  #isOpen = false;
  /** The interrupt that ended the start waits to be carried out. */
  #isDue = false;

  constructor(lines: AsyncIterable<ChatLine>) {
    this.#reading = this.#read(lines);
    // A failure is for whoever takes the lines.
    this.#reading.catch(() => undefined);
  }

  /** Aborted by an interrupt that comes before the chat is open. */
  get interrupt(): AbortSignal {
    return this.#start.signal;
  }

  /** All lines, once the chat is open. */
  take(): AsyncGenerator<ChatLine, void> {
    this.#isOpen = true;
    return this.#lines.until(this.#reading);
  }

  /** True once: for the interrupt that has ended the start. */
  takeInterrupt(): boolean {
    const isDue = this.#isDue;
    this.#isDue = false;
    return isDue;
  }

  async #read(lines: AsyncIterable<ChatLine>): Promise<void> {
    for await (const line of lines) {
      if (!this.#isOpen && (await isInterrupt(line))) {
        this.#isDue = true;
        this.#start.abort();
      }
      this.#lines.post(line);
    }
  }
}

async function isInterrupt(line: ChatLine): Promise<boolean> {
  if (typeof line === "string" && !line.includes("interrupt")) return false;
  const read = typeof line === "string" ? (await import("./submission.ts")).readSubmission(line) : line;
  return "submission" in read && read.submission.op === "interrupt";
}
