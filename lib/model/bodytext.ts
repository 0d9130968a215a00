import type { Message } from "./message.ts";

/**
 * The forms of a message in a request, or their JSON; the messages around it decide where images of results go.
 */
type Form = (messages: readonly Message[], position: number) => readonly (object | string)[];

/**
 * Writes messages as JSON. A request mostly repeats the messages of the one before and adds some, so its texts are kept
 * for the next one.
 */
export function messageWriter(form: Form): (messages: readonly Message[]) => Written {
  let last: Written = { messages: [], texts: [], ends: [] };
  return (messages) => {
    let same = 0;
    // The form of the last message may still depend on what comes after it.
    while (same < last.messages.length - 1 && last.messages[same] === messages[same]) same++;
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
  const list = `${JSON.stringify(messages.name)}:[${messages.texts.join(",")}]`;
  // Not joined: the list is long, and would be copied.
  return `{${first === "" ? "" : `${first},`}${list}${last === "" ? "" : `,${last}`}}`;
}
