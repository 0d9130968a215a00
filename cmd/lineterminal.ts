import { KodaError } from "../lib/errors.ts";
import { completionsOf } from "../lib/line/complete.ts";
import type { LineServices } from "../lib/line/commands.ts";
import { LineConsole } from "../lib/line/console.ts";
import { LineChat } from "../lib/line/linechat.ts";
import { LineTerminal } from "../lib/line/lineterminal.ts";
import { OutputStream } from "../lib/sink/output.ts";
import { historyOf } from "./chatsettings.ts";
import { openKeyboard } from "./keyboard.ts";
import type { Person } from "./linechat.ts";
import type { CommandOptions } from "./options.ts";
import type { Stopper } from "./signals.ts";
import { isOneStream, sinkFor } from "./stdio.ts";

/** Inputs of earlier chats that Up brings back. */
const mostEarlier = 1000;

/** Chats at a terminal. All that is shown there passes the display, which knows the typed line. */
export function openTerminals(stopper: Stopper) {
  const isDumb = process.env["TERM"] === "dumb";
  const keyboard = openKeyboard(isDumb);
  const out = new OutputStream(2, "stderr");
  const quit = () => stopper.controller.abort(new KodaError("sigint", "Stopped by Ctrl-C", { retryable: true }));
  return async (options: CommandOptions<"chat">, services: LineServices): Promise<Person> => {
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
    const chat = new LineChat({ services, note, isSequence: false });
    const complete = async (before: string) => {
      const prompts = before.startsWith("/") ? await chat.prompts() : [];
      return completionsOf(before, prompts, chat.latest("session.start")?.cwd ?? ".");
    };
    const kept = historyOf(options);
    const history = { history: kept?.latest(mostEarlier) ?? [], keepsHistory: kept !== undefined };
    const terminal = new LineTerminal({ chat, display, note, keyboard, complete, quit, ...history });
    return {
      sink,
      chat,
      isAskable: true,
      inputs: terminal.inputs(),
      before: (event) => void (event.type === "end" && terminal.close()),
      after: async (event) => await terminal.see(event),
    };
  };
}
