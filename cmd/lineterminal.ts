import type { InputHistory } from "../lib/chat/inputhistory.ts";
import { KodaError } from "../lib/errors.ts";
import { completionsOf } from "../lib/line/complete.ts";
import { LineConsole } from "../lib/line/console.ts";
import { LineChat } from "../lib/line/linechat.ts";
import { LineTerminal } from "../lib/line/lineterminal.ts";
import { OutputStream } from "../lib/sink/output.ts";
import { openKeyboard } from "./keyboard.ts";
import { lineServices } from "./lineservices.ts";
import type { CommandOptions } from "./options.ts";
import type { Stopper } from "./signals.ts";
import { isOneStream, sinkFor } from "./stdio.ts";

/** Inputs of earlier chats that Up brings back. */
const mostEarlier = 1000;

/** A chat at a terminal. All that is shown there passes the display, which knows the typed line. */
export async function openLineTerminal(
  options: CommandOptions<"chat">,
  stopper: Stopper,
  history: InputHistory | undefined,
) {
  const isDumb = process.env["TERM"] === "dumb";
  const out = new OutputStream(2, "stderr");
  const display = new LineConsole({ out, columns: () => process.stderr.columns || 80, isDumb });
  const sink = await sinkFor({
    ...options,
    output: "text",
    isChat: true,
    isTyping: () => display.isTyping,
    stderr: display.output,
    ...(isOneStream() && { stdout: display.output }),
  });
  const note = (text: string) => sink.note(text);
  const chat = new LineChat({ services: lineServices(options), note, isSequence: false });
  const terminal = new LineTerminal({
    chat,
    display,
    note,
    keyboard: openKeyboard(isDumb),
    history: history?.latest(mostEarlier) ?? [],
    keepsHistory: history !== undefined,
    complete: async (before) =>
      completionsOf(
        before,
        before.startsWith("/") ? await chat.prompts() : [],
        chat.latest("session.start")?.cwd ?? ".",
      ),
    quit: () => stopper.controller.abort(new KodaError("sigint", "Stopped by Ctrl-C", { retryable: true })),
  });
  return { sink, chat, terminal };
}
