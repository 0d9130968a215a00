import type { SinkOutput } from "./sink.ts";

/** U+200B: it cannot be seen, and no runner takes it for a space before a command. */
const mark = "\u200b";

/**
 * The log of GitHub Actions, whose runner obeys what it reads there: lines such as `::add-mask::x`, set in or not, and
 * `##[add-mask]x` anywhere. Text of models, commands and files gets a mark that makes it none. A piece of text may
 * begin in the middle of a command, so its first characters count as well.
 */
export function withoutCommands(output: SinkOutput): SinkOutput {
  return {
    write: (text) => output.write(marked(text)),
    flush: () => output.flush(),
    get isIdle() {
      return output.isIdle;
    },
  };
}

function marked(text: string): string {
  return text
    .replace(/^(\s*):/gm, `$1${mark}:`)
    .replaceAll("##[", `##${mark}[`)
    .replace(/^#?\[/, `${mark}$&`);
}
