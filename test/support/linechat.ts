import { promptsOf } from "./chat.ts";
import { isMissing } from "./keyboard.ts";
import { using } from "./koda.ts";
import { reply, say, wait } from "./model-reply.ts";
import { type Script, startModelServer } from "./model-server.ts";
import { makePlace, type Place } from "./place.ts";
import { openTmux } from "./tmux.ts";

export const hasTmux = !isMissing("tmux");
export const usualSize = { columns: 80, rows: 24 };

/** `koda chat` in tmux, at its first prompt. */
export async function openLineChat(
  script: Script,
  {
    size = usualSize,
    args = [] as readonly string[],
    env = {} as Record<string, string>,
    place: given = undefined as Place | undefined,
  } = {},
) {
  // A place that was given outlives this chat.
  const place = given ?? makePlace();
  const server = await startModelServer(script);
  const terminal = await openTmux(place, size, env);
  terminal.type(`koda chat ${[...using(server), ...args].join(" ")}; echo "code=$?"`);
  terminal.press("Enter");
  await terminal.shows(/^koda \S+ [^]*\n>$/m);
  return {
    ...terminal,
    place,
    server,
    prompts: () => server.requests.map(promptsOf),
    enter(text: string) {
      terminal.type(text);
      terminal.press("Enter");
    },
    async [Symbol.asyncDispose]() {
      await terminal[Symbol.asyncDispose]();
      await server.close();
      if (given === undefined) await place[Symbol.asyncDispose]();
    },
  };
}

/** A reply that waits in the middle. */
export function pausing(before: string, after: string) {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const entry = reply(
    say(before),
    wait(() => (begun.resolve(), goOn.promise)),
    say(after),
  );
  return { entry, begun: begun.promise, goOn: goOn.resolve };
}
