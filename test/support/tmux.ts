import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withKoda } from "./keyboard.ts";
import type { Place } from "./place.ts";
import { until } from "./until.ts";

type Size = { columns: number; rows: number };

/** A shell in a terminal of tmux, as a person has it; its prompt is `ready> `. */
export async function openTmux(place: Place, { columns, rows }: Size, env: Record<string, string> = {}) {
  const directory = mkdtempSync(join(tmpdir(), "koda-tmux-"));
  const socket = join(directory, "socket");
  const tmux = (...args: string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["tmux", "-S", socket, "-f", "/dev/null", ...args], {
      env: { ...withKoda(place), PS1: "ready> ", TERM: "xterm", ...env },
      cwd: place.project,
    });
    if (exitCode !== 0) throw new Error(`tmux ${args.join(" ")} failed: ${stderr}`);
    return stdout.toString();
  };
  const size = ["-x", String(columns), "-y", String(rows)];
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  tmux("new-session", "-d", ...size, "env", ...variables, "bash", "--norc", "--noprofile", "-i");

  /** The rows of the terminal, without empty ones at the end; with all that has scrolled away. */
  const screen = () => tmux("capture-pane", "-p", "-S", "-").trimEnd();
  const shows = async (pattern: RegExp) => {
    await until(
      () => pattern.test(screen()),
      () => `${pattern} on the terminal, but\n${screen()}`,
    );
    return screen();
  };
  await shows(/ready>/);
  return {
    screen,
    shows,
    /** Names of keys, such as Enter, C-c and Left. */
    press: (...keys: string[]) => void tmux("send-keys", ...keys),
    type: (text: string) => void tmux("send-keys", "-l", "--", text),
    paste(text: string) {
      tmux("set-buffer", "--", text);
      tmux("paste-buffer", "-p", "-r");
    },
    resize: (to: Size) => void tmux("resize-window", "-x", String(to.columns), "-y", String(to.rows)),
    /** The line of the cursor, up to the cursor. */
    cursorLine() {
      const [x = 0, y = 0] = tmux("display-message", "-p", "#{cursor_x} #{cursor_y}").split(" ").map(Number);
      return (tmux("capture-pane", "-p").split("\n")[y] ?? "").padEnd(x).slice(0, x);
    },
    async [Symbol.asyncDispose]() {
      tmux("kill-server");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
