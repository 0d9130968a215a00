import { writeSync } from "node:fs";
import { errnoOf } from "../lib/errors.ts";
import type { Keyboard } from "../lib/line/lineterminal.ts";

/** A terminal marks pasted text between these two. */
const bracketedPaste = { on: "\u001b[?2004h", off: "\u001b[?2004l" } as const;

/** The terminal on stdin. However the process ends, the terminal is as before. */
export function openKeyboard(isDumb: boolean): Keyboard {
  let isTaken = false;
  // Each chat of this process replaces the one before.
  let listener: (bytes: Uint8Array) => void = () => {};
  let onResize = () => {};
  // When the signal itself comes, the stream may still have the old size.
  process.stderr.on("resize", () => onResize());
  process.stdin.on("data", (bytes: Uint8Array) => listener(bytes));
  const mark = (how: keyof typeof bracketedPaste) => {
    if (!isDumb) writeQuietly(bracketedPaste[how]);
  };
  const keyboard: Keyboard = {
    listen: (onKeys) => void (listener = onKeys),
    onResize: (redraw) => void (onResize = redraw),
    take() {
      isTaken = true;
      process.stdin.setRawMode(true);
      mark("on");
    },
    release() {
      if (!isTaken) return;
      isTaken = false;
      mark("off");
      process.stdin.setRawMode(false);
    },
    async suspend() {
      const continued = Promise.withResolvers<void>();
      process.once("SIGCONT", () => continued.resolve());
      process.kill(process.pid, "SIGTSTP");
      await continued.promise;
    },
  };
  // Stopped from elsewhere: the shell has set up its terminal meanwhile.
  process.on("SIGCONT", () => {
    if (!isTaken) return;
    keyboard.release();
    keyboard.take();
    onResize();
  });
  process.on("exit", () => keyboard.release());
  return keyboard;
}

function writeQuietly(text: string): void {
  try {
    writeSync(2, text);
  } catch (error) {
    // The terminal is gone or blocked.
    if (errnoOf(error) === undefined) throw error;
  }
}
