/** Output as it comes, for people: whole lines where possible, and never more than anybody could want to follow. */
export type Live = {
  add(bytes: Uint8Array): void;
  /** Shows what is still held back. */
  end(): void;
};

/**
 * What is shown at once and what comes back each second. More than that is left out, with a line that says how much:
 * a command may print gigabytes, and whatever is shown waits in memory until the reader has taken it.
 */
const burstBytes = 1024 * 1024;
const bytesPerSecond = 64 * 1024;

/** A line that takes longer than this to come is shown in parts. */
const partialAfterMs = 100;
const longestPart = 16 * 1024;

/** More text at once than this is shown as one block: nobody reads it line by line. */
const blockFrom = 2 * 1024;

export function showLive(show: (text: string) => void, clock: () => number = () => performance.now()): Live {
  let decoder = newDecoder();
  let unfinished = "";
  let isMidLine = false;
  let hiddenBytes = 0;
  let allowance = burstBytes;
  let refilledAt = clock();
  let timer: Timer | undefined;

  return {
    add(bytes) {
      if (!affords(bytes.length)) return hide(bytes.length);
      const visible = hiddenBytes > 0 ? resume(bytes) : bytes;
      unfinished += decoder.decode(visible, { stream: true });
      showLines();
      if (unfinished.length >= longestPart) showUnfinished();
      if (unfinished !== "") timer ??= setTimeout(showUnfinished, partialAfterMs);
    },

    end() {
      unfinished += decoder.decode();
      showUnfinished();
      if (hiddenBytes > 0) showGap();
    },
  };

  function affords(bytes: number): boolean {
    const now = clock();
    allowance = Math.min(burstBytes, allowance + ((now - refilledAt) / 1000) * bytesPerSecond);
    refilledAt = now;
    if (bytes > allowance) return false;
    allowance -= bytes;
    return true;
  }

  function hide(bytes: number): void {
    showUnfinished();
    hiddenBytes += bytes;
  }

  /** Goes on after a gap, with a whole line if there is one. */
  function resume(bytes: Uint8Array): Uint8Array {
    const lineStart = bytes.indexOf(10) + 1;
    hiddenBytes += lineStart;
    showGap();
    decoder = newDecoder();
    return bytes.subarray(lineStart);
  }

  function showGap(): void {
    put(`${isMidLine ? "\n" : ""}[… ${hiddenBytes.toLocaleString("en")} bytes not shown here …]\n`);
    hiddenBytes = 0;
  }

  function showLines(): void {
    const end = unfinished.lastIndexOf("\n") + 1;
    if (end === 0) return;
    const lines = unfinished.slice(0, end);
    unfinished = unfinished.slice(end);
    stopTimer();
    if (lines.length >= blockFrom) put(lines);
    else for (const line of lines.match(/[^\n]*\n/g) ?? []) put(line);
  }

  function showUnfinished(): void {
    stopTimer();
    if (unfinished === "") return;
    put(unfinished);
    unfinished = "";
  }

  function stopTimer(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  function put(text: string): void {
    isMidLine = !text.endsWith("\n");
    show(text);
  }
}

function newDecoder(): InstanceType<typeof TextDecoder> {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}
