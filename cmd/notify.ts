import { resolve } from "node:path";
import type { Event, EventOf } from "../lib/engine/event.ts";
import { KodaError, messageOf } from "../lib/errors.ts";
import { realPaths } from "../lib/files/real.ts";
import { runUsersProgram } from "../lib/shell/usersprogram.ts";
import { rootOf } from "./basesettings.ts";
import type { ExecOptions } from "./options.ts";
import { printNote } from "./note.ts";

/** Tells the user's command of each turn that has ended. */
export type Notifier = { see(event: Event): void; finished(): Promise<void> };

type NotifyOptions = Pick<ExecOptions, "cd" | "allowWrite">;

const limitMs = 10_000;

/** The command of `--notify`: the user has typed it, so it runs with the user's rights, in no project. */
export function openNotifier(command: string, { cd, allowWrite }: NotifyOptions): Notifier {
  const root = rootOf(cd);
  const writable = [root, ...allowWrite.map((path) => resolve(root, path))].flatMap(realPaths);
  const running: Promise<void>[] = [];
  let start: EventOf<"session.start"> | undefined;
  let lastMessage = "";
  const run = async (told: unknown): Promise<void> => {
    const fail = (problem: string, { stderr } = { stderr: "" }) =>
      new KodaError("usage", `--notify: the command ${problem}${stderr === "" ? "" : `: ${stderr.trim()}`}`);
    try {
      await runUsersProgram(["sh", "-c", command], {
        env: process.env,
        writable,
        limitMs,
        fail,
        stdin: JSON.stringify(told),
      });
    } catch (error) {
      await printNote(`koda: warning: ${messageOf(error)}`);
    }
  };
  return {
    see(event) {
      if (event.type === "session.start") start = event;
      if (event.type === "turn.start") lastMessage = "";
      if (event.type === "text.done") lastMessage = event.text;
      if (event.type !== "turn.end" || start === undefined) return;
      const { session, cwd } = start;
      running.push(run({ ...event, session, cwd, last_message: lastMessage }));
    },
    finished: async () => void (await Promise.all(running)),
  };
}
