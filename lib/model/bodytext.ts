import type { Message } from "./message.ts";

/** The blocks of a message in a request, or their JSON. */
type Form = (messages: readonly Message[], position: number) => readonly (object | string)[];

/** Adds the forms of a message; the messages around it decide where images of results go. */
type AddForms = (forms: object[], messages: readonly Message[], position: number) => void;

/**
 * Writes messages as JSON. A request mostly repeats the messages of the one before and adds some, so its texts are kept
 * for the next one. New messages are one text, however many there are: a resumed session has thousands.
 */
export function listWriter(addForms: AddForms): (messages: readonly Message[]) => readonly string[] {
  let last: readonly Message[] = [];
  /** Texts, and how many messages there are up to the end of each. */
  let written: { text: string; end: number }[] = [];
  const write = (messages: readonly Message[], end: number) => {
    const forms: object[] = [];
    for (let position = written.at(-1)?.end ?? 0; position < end; position++) addForms(forms, messages, position);
    if (forms.length > 0) written.push({ text: JSON.stringify(forms).slice(1, -1), end });
  };
  return (messages) => {
    const same = sameMessages(last, messages);
    written = written.filter(({ end }) => end <= same);
    last = messages;
    // The last message has its own text, which is written again when another follows.
    write(messages, messages.length - 1);
    write(messages, messages.length);
    return written.map(({ text }) => text);
  };
}

/** The number of messages whose forms are the same: that of the last one may still depend on what comes after it. */
function sameMessages(before: readonly Message[], now: readonly Message[]): number {
  let same = 0;
  while (same < before.length - 1 && before[same] === now[same]) same++;
  return same;
}

/** The same, with the blocks of each message as texts of their own. */
export function blockWriter(form: Form): (messages: readonly Message[]) => Written {
  let last: Written = { messages: [], texts: [], ends: [] };
  return (messages) => {
    const same = sameMessages(last.messages, messages);
    const ends = last.ends.slice(0, same);
    const texts = last.texts.slice(0, ends.at(-1) ?? 0);
    for (let position = same; position < messages.length; position++) {
      for (const one of form(messages, position)) texts.push(typeof one === "string" ? one : JSON.stringify(one));
      ends.push(texts.length);
    }
    last = { messages, texts, ends };
    return last;
  };
}

/** `ends` are the numbers of texts up to each message. */
export type Written = { messages: readonly Message[]; texts: readonly string[]; ends: readonly number[] };

/**
 * The JSON of a body whose messages stand between its other fields. Messages come late, so that each request begins
 * with the bytes of the one before and the provider's prompt cache applies. Undefined fields are left out.
 */
export function bodyText(before: object, messages: { name: string; texts: readonly string[] }, after: object): string {
  const [first, last] = [before, after].map((fields) => JSON.stringify(fields).slice(1, -1));
  const start = `{${first === "" ? "" : `${first},`}${JSON.stringify(messages.name)}:[`;
  const end = `]${last === "" ? "" : `,${last}`}}`;
  // Joined at once: the list is long, and would be copied.
  const { texts } = messages;
  const [only = ""] = texts;
  if (texts.length < 2) return start + only + end;
  return [start + only, ...texts.slice(1, -1), texts.at(-1) + end].join(",");
}
