import { runChat } from "../lib/chat/chat.ts";
import type { InputHistory } from "../lib/chat/inputhistory.ts";
import { Host } from "../lib/conversation/host.ts";
import type { Event } from "../lib/engine/event.ts";
import { inputsOf } from "../lib/line/inputlines.ts";
import { LineChat } from "../lib/line/linechat.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import type { Sink } from "../lib/sink/sink.ts";
import { chatParts, rememberPrefix } from "./chatsettings.ts";
import { deliver, notifierFor } from "./deliver.ts";
import { inputLines } from "./lines.ts";
import { lineServices } from "./lineservices.ts";
import type { CommandOptions } from "./options.ts";
import { cassetteOf } from "./settings.ts";
import type { Stopper } from "./signals.ts";
import { sinkFor } from "./stdio.ts";
import { isTerminal } from "./terminal.ts";

/** A source of inputs, and its view of the events; `shown` is called before the chat knows of an event. */
type Person = {
  sink: Sink;
  chat: LineChat;
  inputs(signal: AbortSignal): AsyncIterable<string>;
  isAskable: boolean;
  before?(event: Event): void;
  after?(event: Event): Promise<void>;
};

/** `koda chat` for people: at a terminal, or a script over a pipe. */
export async function lineChat(options: CommandOptions<"chat">, stopper: Stopper): Promise<number> {
  const { run, ...parts } = chatParts(options);
  const isAtTerminal = (await isTerminal(0)) && (await isTerminal(2));
  const person = isAtTerminal ? await atTerminal(options, stopper, parts.history) : await overPipe(options);
  const { chat, isAskable } = person;
  return await deliver(
    (conclude) => {
      const host = new Host({ stop: stopper.controller, cassette: cassetteOf(run), reaper: new Reaper() });
      stopper.killNow = () => host.killNow();
      const lines = chat.submissions(person.inputs(host.signal));
      return runChat(host, {
        ...parts,
        lines,
        remember: isAskable ? rememberPrefix : undefined,
        canAnswer: false,
        conclude,
      });
    },
    { sink: seenBy(person), stop: stopper.controller, notifier: await notifierFor(options) },
  );
}

/** Each line is an input, which waits for the end of the one before. */
async function overPipe(options: CommandOptions<"chat">): Promise<Person> {
  const sink = await sinkFor({ ...options, output: "text", isChat: true });
  const chat = new LineChat({ services: lineServices(options), note: (text) => sink.note(text), isSequence: true });
  return {
    sink,
    chat,
    isAskable: false,
    inputs: (signal) => inputsOf(inputLines(Bun.stdin.stream(), signal), (problem) => sink.note(`koda: ${problem}`)),
  };
}

async function atTerminal(
  options: CommandOptions<"chat">,
  stopper: Stopper,
  history: InputHistory | undefined,
): Promise<Person> {
  const { openLineTerminal } = await import("./lineterminal.ts");
  const { sink, chat, terminal } = await openLineTerminal(options, stopper, history);
  return {
    sink,
    chat,
    isAskable: true,
    inputs: () => terminal.inputs(),
    before: (event) => event.type === "end" && terminal.close(),
    after: async (event) => await terminal.see(event),
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
