import { Mailbox } from "../async/mailbox.ts";
import type { Event, EventOf } from "../engine/event.ts";
import type { LineConsole } from "./console.ts";
import { LineEditor } from "./editor.ts";
import { InputLines } from "./inputlines.ts";
import { KeyStream } from "./keys.ts";
import type { LineChat } from "./linechat.ts";
import { Questions } from "./questions.ts";

/** The terminal as a source of keys. */
export type Keyboard = {
  listen(onKeys: (bytes: Uint8Array) => void): void;
  /** Calls `redraw` after a change of size, and when the process goes on after a stop. */
  onResize(redraw: () => void): void;
  /** Every key comes at once and unchanged, until `release`. */
  take(): void;
  release(): void;
  /** Stops the process; settles when it goes on. */
  suspend(): Promise<void>;
};

type TerminalOptions = {
  chat: LineChat;
  display: LineConsole;
  keyboard: Keyboard;
  note: (text: string) => Promise<void>;
  /** Earlier inputs, newest first. */
  history: readonly string[];
  keepsHistory: boolean;
  complete: (before: string) => Promise<[matches: string[], word: string]>;
  /** Stops the chat. */
  quit: () => void;
};

/** Two of Ctrl-C within this time leave. */
const togetherMs = 2000;

/** A person at a terminal: keys become inputs, answers to questions, and interrupts. */
export class LineTerminal {
  readonly #options: TerminalOptions;
  readonly #editor: LineEditor;
  readonly #questions = new Questions();
  readonly #lines = new InputLines();
  readonly #inputs = new Mailbox<string>();
  readonly #over = Promise.withResolvers<void>();
  /** The lines of the input that is being typed. */
  #entered: string[] = [];
  /** A line that was being typed when a question came. */
  #draft = "";
  #isClosed = false;
  #isBegun = false;
  /** True until an input that was entered is under way. */
  #isEntering = false;
  /** True when no input comes any more. */
  #isEnded = false;
  #interruptedAt = -Infinity;

  constructor(options: TerminalOptions) {
    this.#options = options;
    const { keyboard, history } = options;
    this.#editor = new LineEditor({
      history,
      entered: (line) => this.#enter(line),
      changed: () => this.refresh(),
      complete: (before) => this.#complete(before),
    });
    const keys = new KeyStream({
      keys: (bytes) => this.#editor.press(bytes),
      paste: (text) => this.#paste(text),
      control: (key) => this.#control(key),
    });
    keyboard.listen((bytes) => keys.feed(bytes));
    keyboard.onResize(() => {
      // The line may be elsewhere now, or gone.
      this.#options.display.show(undefined);
      this.refresh();
    });
    keyboard.take();
    this.refresh();
  }

  /** Each complete input. */
  inputs(): AsyncGenerator<string, void> {
    return this.#inputs.until(this.#over.promise);
  }

  /** Shows the line as it is now. */
  refresh(): void {
    const { display, chat } = this.#options;
    const { text, cursor } = this.#editor;
    const isIdle = !chat.isBusy && !this.#isEntering;
    const isWanted = text !== "" || this.#lines.isOpen || this.#questions.current !== undefined || isIdle;
    display.show(isWanted && !this.#isClosed ? { prompt: this.#prompt, text, cursor } : undefined);
  }

  /** Takes note of an event that was shown. */
  async see(event: Event): Promise<void> {
    if (event.type === "session.start") await this.#showTail(event);
    if (isAbout(event)) {
      const question = this.#questions.see(event);
      if (question !== undefined) await this.#ask(question);
      else if (this.#questions.current === undefined) this.#takeBack();
    }
    this.refresh();
  }

  /** The end of the conversation that goes on, once. */
  async #showTail({ session, resumed, source }: EventOf<"session.start">): Promise<void> {
    const isFirst = !this.#isBegun;
    this.#isBegun = true;
    const { chat, note } = this.#options;
    const tail = isFirst && (resumed || source === "fork") ? await chat.services.tail(session) : "";
    if (tail !== "") await note(tail);
  }

  /** Gives the terminal back. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#over.resolve();
    this.refresh();
    this.#editor.close();
    this.#options.keyboard.release();
  }

  get #prompt(): string {
    if (this.#questions.current !== undefined) return this.#questions.prompt;
    return this.#lines.isOpen ? "... " : "> ";
  }

  #enter(line: string): void {
    this.#options.display.enter({ prompt: this.#prompt, text: line, cursor: line.length });
    if (this.#questions.current === undefined) this.#addToInput(line);
    else this.#answer(line);
    this.refresh();
  }

  #addToInput(line: string): void {
    this.#entered.push(line);
    const typed = this.#lines.add(line);
    if (typed === undefined) return;
    const input = this.#editor.expanded(typed);
    this.#editor.remember(this.#entered, input);
    this.#entered = [];
    if (this.#options.keepsHistory && input.trim() !== "")
      void this.#options.chat.submit({ op: "history.add", text: input });
    this.#inputs.post(input);
    this.#isEntering = true;
    setImmediate(() => {
      this.#isEntering = false;
      this.refresh();
    });
  }

  #answer(line: string): void {
    this.#editor.remember([line], undefined);
    const answer = this.#questions.answer(this.#editor.expanded(line));
    if (answer === undefined) return;
    if ("op" in answer) void this.#submit(answer);
    else void this.#options.note("problem" in answer ? answer.problem : answer.ask);
  }

  async #submit(answer: Parameters<Questions["again"]>[0]): Promise<void> {
    const { status } = await this.#options.chat.submit(answer);
    const question = status === "done" ? undefined : this.#questions.again(answer);
    if (question !== undefined) await this.#options.note(question);
    this.refresh();
  }

  #paste(text: string): void {
    this.#editor.paste(text);
    this.refresh();
  }

  async #ask(question: string): Promise<void> {
    const before = this.#editor.replace("");
    if (this.#draft === "") this.#draft = before;
    await this.#options.note(question);
  }

  #takeBack(): void {
    if (this.#draft !== "" && this.#editor.text === "") this.#editor.replace(this.#draft);
    this.#draft = "";
  }

  #control(key: "c" | "d" | "z"): boolean {
    if (key === "z") void this.#suspend();
    if (key === "c") this.#interrupt();
    if (key !== "d") return true;
    if (this.#editor.text !== "") return false;
    this.#isEnded = true;
    this.#over.resolve();
    return true;
  }

  #interrupt(): void {
    const { chat, display, quit, note } = this.#options;
    const { current } = this.#questions;
    const now = performance.now();
    const isSecond = now - this.#interruptedAt < togetherMs;
    if (current?.type === "approval.request") void chat.submit({ op: "approve", call: current.id, decision: "abort" });
    else if (!chat.isOpen || (this.#isEnded && chat.isBusy)) quit();
    else if (chat.isBusy) void chat.submit({ op: "interrupt" });
    else if (this.#editor.text !== "" || this.#lines.isOpen) {
      display.enter({ prompt: this.#prompt, text: `${this.#editor.replace("")}^C`, cursor: 0 });
      this.#lines.rest();
      this.#entered = [];
    } else if (isSecond) quit();
    else {
      this.#interruptedAt = now;
      void note("Press Ctrl-C again to quit");
    }
    this.refresh();
  }

  async #suspend(): Promise<void> {
    const { display, keyboard } = this.#options;
    display.show(undefined);
    keyboard.release();
    await display.output.flush();
    await keyboard.suspend();
    keyboard.take();
    this.refresh();
  }

  /** The platform's editor would list several matches on its own display. */
  async #complete(before: string): Promise<[string[], string]> {
    const [matches, word] = await this.#options.complete(before);
    const isStuck = matches.length > 1 && matches.every((match) => match[word.length] !== matches[0]?.[word.length]);
    if (matches.length > 1 && (isStuck || commonLength(matches) <= word.length))
      await this.#options.note(`  ${matches.map((match) => match.trim()).join("  ")}`);
    return [matches, word];
  }
}

const questionEvents = [
  "approval.request",
  "approval.decision",
  "question",
  "question.end",
  "elicitation.request",
  "elicitation.decision",
] as const;

function isAbout(event: Event): event is EventOf<(typeof questionEvents)[number]> {
  return (questionEvents as readonly string[]).includes(event.type);
}

function commonLength([first = "", ...others]: readonly string[]): number {
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length--;
  return length;
}
