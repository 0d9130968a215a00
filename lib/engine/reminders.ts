import type { Completion } from "./completion.ts";

const mostReminders = 2;

/** Reminds a model of its task, a limited number of times in a turn, without losing what it had answered before. */
export class Reminders {
  #count = 0;
  /** Replies that may be the answer: what the model adds after a reminder does not replace them. */
  #earlier: string[] = [];

  /** The reminder for a reply that is not the end of its task; undefined for an answer, and when there were enough. */
  note(text: string, { reminder }: Completion): string | undefined {
    if (reminder === undefined || this.#count === mostReminders) return undefined;
    this.#count++;
    if (!reminder.isPromise) this.#earlier.push(text);
    return reminder.text;
  }

  forget(): void {
    this.#earlier = [];
  }

  /** The answer, with the earlier replies that it adds to. */
  whole(text: string): string {
    return [...new Set([...this.#earlier, text])].join("\n\n");
  }
}
