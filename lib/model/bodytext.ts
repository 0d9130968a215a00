import type { Message } from "./message.ts";

/** The forms of a message in a request; the messages around it decide where images of results go. */
type Form = (messages: readonly Message[], position: number) => readonly object[];

/**
 * Writes messages as JSON. A conversation is sent again with every request, so the text of a message is kept as long as
 * the message is.
 */
export function messageWriter(form: Form): (messages: readonly Message[]) => string[] {
  const known = new WeakMap<Message, readonly string[]>();
  return (messages) => {
    const texts: string[] = [];
    let position = 0;
    for (const message of messages) {
      const own = known.get(message) ?? textsOf(form(messages, position));
      // The form of the last one may still depend on what comes after it.
      if (++position < messages.length) known.set(message, own);
      for (const text of own) texts.push(text);
    }
    return texts;
  };
}

function textsOf(forms: readonly object[]): string[] {
  const texts: string[] = [];
  for (const form of forms) texts.push(JSON.stringify(form));
  return texts;
}

/**
 * The JSON of a body whose messages stand between its other fields. Messages come late, so that each request begins
 * with the bytes of the one before and the provider's prompt cache applies. Undefined fields are left out.
 */
export function bodyText(before: object, messages: { name: string; texts: readonly string[] }, after: object): string {
  const fields = [
    JSON.stringify(before).slice(1, -1),
    `${JSON.stringify(messages.name)}:[${messages.texts.join(",")}]`,
    JSON.stringify(after).slice(1, -1),
  ];
  return `{${fields.filter((text) => text !== "").join(",")}}`;
}
