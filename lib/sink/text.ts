import { visible as visibleText } from "../visible.ts";
import { isAnswer } from "./answer.ts";
import type { Screen } from "./screen.ts";
import type { EventWriter, SinkOptions } from "./sink.ts";

/** `live` shows text as it comes, instead of only the final answer. */
type TextOptions = Pick<SinkOptions, "stdoutIsTerminal" | "hasSchema" | "isChat"> & { live: boolean };

/** `--output text`: only text of the model on stdout. */
export function textWriter(screen: Screen, options: TextOptions): EventWriter {
  const visible = options.stdoutIsTerminal ? visibleText : (text: string) => text;
  if (options.live) return liveWriter(screen, visible, options);
  return options.isChat === true ? turnsWriter(screen, visible) : answerWriter(screen, visible, options);
}

/** Writes the answer of each turn when the turn is over. */
function turnsWriter(screen: Screen, visible: (text: string) => string): EventWriter {
  let last = "";
  let isDue = false;
  const write = (text: string) => {
    // Several inputs may be a part of one turn.
    isDue = false;
    return screen.toStdout(visible(endingInNewline(text)));
  };
  return (event) => {
    if (event.type === "turn.start") isDue = true;
    if (event.type === "text.done") last = event.text;
    // A turn that an agent's answer has begun has no reply.
    if (event.type === "turn.end" && event.reason === "complete" && !("submission" in event)) return write(last);
    const answer = event.type === "reply" && event.status === "done" ? answerIn(event.result) : undefined;
    return answer === undefined || !isDue ? undefined : write(answer);
  };
}

function answerIn(result: unknown): string | undefined {
  const { turn, text } = (result ?? {}) as { turn?: unknown; text?: unknown };
  return typeof turn === "number" && typeof text === "string" ? text : undefined;
}

/** Writes only the answer, at the end: until then a call, a retry or another reply may follow. */
function answerWriter(
  screen: Screen,
  visible: (text: string) => string,
  { hasSchema = false }: TextOptions,
): EventWriter {
  let isWhole = false;
  return (event) => {
    if (event.type === "text.done") isWhole = event.text.trim() !== "";
    if (event.type === "text.delta" || event.type === "tool.start" || event.type === "retry") isWhole = false;
    const isAnswered = event.type === "end" && isAnswer(event, { isWhole, hasSchema });
    return isAnswered ? screen.toStdout(visible(endingInNewline(event.text))) : undefined;
  };
}

/** Writes every reply as it comes, each on lines of its own. */
function liveWriter(
  screen: Screen,
  visible: (text: string) => string,
  { isChat = false }: Pick<TextOptions, "isChat">,
): EventWriter {
  /** True when text of the current reply, or any text since the last call, was written. */
  let hasReplyText = false;
  let hasText = false;
  const write = async (text: string) => {
    hasReplyText = true;
    hasText = true;
    await screen.toStdout(visible(text));
  };
  const close = async () => {
    hasReplyText = false;
    await screen.endLine();
  };
  return async (event) => {
    switch (event.type) {
      case "text.delta":
        return await write(event.text);
      case "text.done":
        if (!hasReplyText && event.text !== "") await write(event.text);
        return await close();
      case "tool.start":
        hasText = false;
        return;
      case "retry":
        return await close();
      case "end":
        if (!hasText && !isChat && event.status === "done") await write(event.text);
        return await close();
      default:
        return;
    }
  };
}

function endingInNewline(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
