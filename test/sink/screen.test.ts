import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Event } from "../../lib/engine/event.ts";
import { makePlace } from "../support/place.ts";
import { call, delta, done, ended, finished, said, started } from "../support/sink-run.ts";

const program = [process.execPath, join(import.meta.dir, "../support/sink-program.ts"), "events"];
const frame = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/;
/** A wait with `resize` makes the terminal so wide and lets the events wait on. */
type Wait = { shown: RegExp; thenMs?: number; resize?: number };

/** Plays events on a real terminal. At each null it waits until the terminal has shown what is expected there. */
async function onTerminal(events: readonly (Event | null)[], waits: readonly Wait[], redirect = ""): Promise<string> {
  await using place = makePlace();
  const options = { stdoutIsTerminal: redirect === "", stderrIsTerminal: true };
  const file = place.write("events.json", JSON.stringify(events));
  const waiting = [...waits];
  const decoder = new TextDecoder();
  let shown = "";
  let seen = 0;
  const child = Bun.spawn(["bash", "-c", `exec "$@" ${redirect}`, "bash", ...program, file, JSON.stringify(options)], {
    cwd: place.project,
    terminal: {
      cols: 80,
      rows: 24,
      data(terminal, bytes) {
        shown += decoder.decode(bytes, { stream: true });
        if (!waiting[0]?.shown.test(shown.slice(seen))) return;
        seen = shown.length;
        const { thenMs = 0, resize } = waiting.shift() ?? {};
        if (resize !== undefined) return terminal.resize(resize, 24);
        setTimeout(() => child.kill("SIGUSR2"), thenMs);
      },
    },
  });
  expect(await child.exited).toBe(0);
  child.terminal?.close();
  return shown.replaceAll("\r\n", "\n");
}

/** The final contents of the screen: every line as it was last written. */
function leftOver(shown: string): string[] {
  return shown.split("\n").map((line) => line.split("\r\u001b[K").at(-1) ?? "");
}

test("long work shows a spinner with its name and the time, and nothing of it stays", async () => {
  const shown = await onTerminal(
    [
      started,
      { type: "turn.start", turn: 1 },
      null,
      call("a", "Bash", { command: "make" }),
      null,
      ended("a", "Bash"),
      ...said("Good."),
      finished("Good."),
    ],
    [{ shown: new RegExp(`${frame.source} thinking 0 s`) }, { shown: new RegExp(`${frame.source} Bash make 0 s`) }],
  );
  expect(leftOver(shown).slice(2)).toEqual([
    "● Bash make",
    "  ✓ 1.2 s",
    "Good.",
    expect.stringContaining("✓ done"),
    "  to continue: koda exec --resume 0199",
    "",
  ]);
});

test("a terminal that becomes narrower gets a spinner that fits", async () => {
  const command = "a".repeat(100);
  const shown = await onTerminal(
    [call("a", "Bash", { command }), null, ended("a", "Bash"), finished("Good.")],
    [{ shown: /Bash a+… 0 s$/, resize: 30 }, { shown: /Bash a+… \d s$/, resize: 20 }, { shown: /Bash a+… \d s$/ }],
  );
  const widths = [...shown.matchAll(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏][^\r\n]*/g)].map(([line]) => line.length);
  expect([...new Set(widths)]).toEqual([79, 29, 19]);
});

test("half a line of text is never written over", async () => {
  const shown = await onTerminal(
    [
      { type: "turn.start", turn: 1 },
      delta("Half a"),
      null,
      delta(" line."),
      done("Half a line."),
      finished("Half a line."),
    ],
    // Longer than any work that goes without a spinner.
    [{ shown: /Half a/, thenMs: 700 }],
  );
  expect(leftOver(shown)[0]).toBe("Half a line.");
});

test("quick work shows no spinner", async () => {
  const shown = await onTerminal(
    [
      started,
      { type: "turn.start", turn: 1 },
      call("a", "Read", { path: "a" }, "read"),
      ended("a", "Read"),
      finished(""),
    ],
    [],
  );
  expect(shown).not.toMatch(frame);
});

test("text that goes into a file does not stop the spinner", async () => {
  const shown = await onTerminal(
    [
      { type: "turn.start", turn: 1 },
      delta("Half a"),
      null,
      delta(" line."),
      done("Half a line."),
      finished("Half a line."),
    ],
    [{ shown: frame }],
    "> out",
  );
  expect(leftOver(shown)[0]).toStartWith("✓ done");
});
