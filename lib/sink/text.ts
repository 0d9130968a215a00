import { visible as visibleText } from "../visible.ts";
import { isAnswer } from "./answer.ts";
import type { Screen } from "./screen.ts";
import type { EventWriter, SinkOptions } from "./sink.ts";

/** `live` shows text as it comes, instead of only the final answer. */
type TextOptions = Pick<SinkOptions, "stdoutIsTerminal" | "hasSchema"> & { live: boolean };

/** `--output text`: only text of the model on stdout. */
export function textWriter(screen: Screen, options: TextOptions): EventWriter {
  const visible = options.stdoutIsTerminal ? visibleText : (text: string) => text;
  return options.live ? liveWriter(screen, visible) : answerWriter(screen, visible, options);
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
function liveWriter(screen: Screen, visible: (text: string) => string): EventWriter {
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
        if (!hasText && event.status === "done") await write(event.text);
        return await close();
      default:
        return;
    }
  };
}

function endingInNewline(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
