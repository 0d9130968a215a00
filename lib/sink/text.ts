import type { Screen } from "./screen.ts";
import type { Writer } from "./sink.ts";
import { harmless } from "./style.ts";

type TextOptions = {
  /** Text as it comes, instead of the final answer alone. */
  live: boolean;
  stdoutIsTerminal: boolean;
  hasSchema?: boolean;
};

/** `--output text`: the answer on stdout, and nothing but text of the model. */
export function textWriter(screen: Screen, options: TextOptions): Writer {
  const visible = options.stdoutIsTerminal ? harmless : (text: string) => text;
  return options.live ? liveWriter(screen, visible) : answerWriter(screen, visible, options);
}

/**
 * Only the answer. Whether a text is the answer shows when the run ends: until then a call, a retry or another reply
 * may follow. A run that failed can still have a whole last reply, and then that is what there is to say, unless it had
 * to match a schema; a reply that was cut off is not.
 */
function answerWriter(screen: Screen, visible: (text: string) => string, { hasSchema }: TextOptions): Writer {
  let isWhole = false;
  return (event) => {
    if (event.type === "text.done") isWhole = event.text.trim() !== "";
    if (event.type === "text.delta" || event.type === "tool.start" || event.type === "retry") isWhole = false;
    const isAnswered = event.type === "end" && (event.status === "done" || (isWhole && !hasSchema));
    return isAnswered ? screen.toStdout(visible(closed(event.text))) : undefined;
  };
}

/** Every reply's text, piece by piece, each reply on lines of its own. */
function liveWriter(screen: Screen, visible: (text: string) => string): Writer {
  /** Whether anything of the current reply was written, and anything since the last call. */
  let isBegun = false;
  let isSaid = false;
  const write = async (text: string) => {
    isBegun = true;
    isSaid = true;
    await screen.toStdout(visible(text));
  };
  const close = async () => {
    isBegun = false;
    await screen.endLine();
  };
  return async (event) => {
    switch (event.type) {
      case "text.delta":
        return await write(event.text);
      case "text.done":
        if (!isBegun && event.text !== "") await write(event.text);
        return await close();
      case "tool.start":
        isSaid = false;
        return;
      case "retry":
        return await close();
      case "end":
        if (!isSaid && event.status === "done") await write(event.text);
        return await close();
      default:
        return;
    }
  };
}

function closed(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
