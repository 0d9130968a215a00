import { runChat } from "../lib/chat/chat.ts";
import { Host } from "../lib/conversation/host.ts";
import type { Event } from "../lib/engine/event.ts";
import type { LineServices } from "../lib/line/commands.ts";
import { inputsOf } from "../lib/line/inputlines.ts";
import { LineChat } from "../lib/line/linechat.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import type { Sink } from "../lib/sink/sink.ts";
import { type ChatOptions, chatParts, rememberPrefix } from "./chatsettings.ts";
import { deliver, notifierFor } from "./deliver.ts";
import { inputLines } from "./lines.ts";
import { lineServices } from "./lineservices.ts";
import { cassetteOf } from "./settings.ts";
import type { Stopper } from "./signals.ts";
import { sinkFor } from "./stdio.ts";
import { isTerminal } from "./terminal.ts";

/** A source of inputs, and its view of the events. */
export type Person = {
  sink: Sink;
  chat: LineChat;
  inputs: AsyncIterable<string>;
  isAskable: boolean;
  before?(event: Event): void;
  after?(event: Event): Promise<void>;
};

/** `koda chat` for people, at a terminal or over a pipe: one chat after the other, as /resume and /fork say. */
export async function lineChat(options: ChatOptions, stopper: Stopper): Promise<number> {
  const isAtTerminal = (await isTerminal(0)) && (await isTerminal(2));
  const open = isAtTerminal ? (await import("./lineterminal.ts")).openTerminals(stopper) : openPipes(stopper);
  const due: ChatOptions[] = [options];
  let exit = 0;
  for (let current = due.pop(); current !== undefined; current = due.pop()) {
    const services = lineServices(current, (next) => void due.push(next));
    exit = await converse(current, await open(current, services), stopper);
  }
  return exit;
}

async function converse(options: ChatOptions, person: Person, stopper: Stopper): Promise<number> {
  const { run, ...parts } = chatParts(options);
  const { chat, inputs, isAskable } = person;
  return await deliver(
    (conclude, delivered) => {
      const host = new Host({ stop: stopper.controller, cassette: cassetteOf(run), reaper: new Reaper() });
      stopper.killNow = () => host.killNow();
      const remember = isAskable ? rememberPrefix : undefined;
      return runChat(host, {
        ...parts,
        lines: chat.submissions(inputs),
        remember,
        canAnswer: isAskable,
        conclude,
        delivered,
      });
    },
    { sink: seenBy(person), stop: stopper.controller, notifier: await notifierFor(options) },
  );
}

/** Each line is an input, which waits for the end of the one before. */
function openPipes({ controller }: Stopper) {
  let note: (text: string) => Promise<void> = () => Promise.resolve();
  const lines = inputLines(Bun.stdin.stream(), controller.signal);
  const typed = inputsOf(lines, (problem) => note(`koda: ${problem}`));
  // The chat that comes next goes on with the next line, so none of them closes the pipe.
  const inputs = { [Symbol.asyncIterator]: () => ({ next: () => typed.next() }) };
  return async (options: ChatOptions, services: LineServices): Promise<Person> => {
    const sink = await sinkFor({ ...options, output: "text", isChat: true });
    note = (text) => sink.note(text);
    return { sink, chat: new LineChat({ services, note, isSequence: true }), isAskable: false, inputs };
  };
}

/** The chat learns of each event after it was shown. */
function seenBy({ sink, chat, before, after }: Person): Sink {
  const seen = async (event: Event) => {
    before?.(event);
    await sink.write(event);
    chat.see(event);
    await after?.(event);
  };
  return {
    ...sink,
    // Pieces of text are many, and nobody waits for one.
    write: (event) => (event.type === "text.delta" ? sink.write(event) : seen(event)),
  };
}
