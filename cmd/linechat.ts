import { runChat } from "../lib/chat/chat.ts";
import { Host } from "../lib/conversation/host.ts";
import { inputsOf } from "../lib/line/inputlines.ts";
import { LineChat } from "../lib/line/linechat.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import type { Sink } from "../lib/sink/sink.ts";
import { chatParts } from "./chatsettings.ts";
import { deliver } from "./deliver.ts";
import { inputLines } from "./lines.ts";
import { lineServices } from "./lineservices.ts";
import type { CommandOptions } from "./options.ts";
import { cassetteOf } from "./settings.ts";
import type { Stopper } from "./signals.ts";
import { sinkFor } from "./stdio.ts";

/** `koda chat` over a pipe: each line is an input, which waits for the end of the one before. */
export async function lineChat(options: CommandOptions<"chat">, stopper: Stopper): Promise<number> {
  const { run, ...parts } = chatParts(options);
  const sink = await sinkFor({ ...run, isChat: true });
  const chat = new LineChat({ services: lineServices(options), note: (text) => sink.note(text), isSequence: true });
  return await deliver(
    (conclude) => {
      const host = new Host({ stop: stopper.controller, cassette: cassetteOf(run), reaper: new Reaper() });
      stopper.killNow = () => host.killNow();
      const typed = inputsOf(inputLines(Bun.stdin.stream(), host.signal), (problem) => sink.note(`koda: ${problem}`));
      return runChat(host, { ...parts, lines: chat.submissions(typed), remember: undefined, conclude });
    },
    { sink: seenBy(chat, sink), stop: stopper.controller },
  );
}

/** The chat learns of each event after it was shown. */
function seenBy(chat: LineChat, sink: Sink): Sink {
  return {
    ...sink,
    write(event) {
      const written = sink.write(event);
      return event.type === "text.delta" ? written : written.then(() => chat.see(event));
    },
  };
}
