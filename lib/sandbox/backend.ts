import { KodaError } from "../errors.ts";

/** A command line with nothing left to look up: the program is an absolute path. */
export type Command = { argv: readonly [program: string, ...args: string[]]; cwd: string; env: Record<string, string> };

/**
 * How commands are confined. There is one spawn in the program (lib/shell/spawn.ts); it asks the backend what to
 * spawn, so a new backend changes no caller.
 */
export type Backend = {
  name: "none";
  filesystem: "open" | "no commands";
  network: "open" | "no commands";
  /** Known gaps and the reasons why stronger backends were not taken, for the first event and for `koda doctor`. */
  notes: readonly string[];
  confine(command: Command): Command;
};

/** What `--no-sandbox` asks for: the command runs with the user's own rights. */
export const unconfined: Backend = {
  name: "none",
  filesystem: "open",
  network: "open",
  notes: ["commands run with your own rights: the sandbox is off (--no-sandbox)"],
  confine: (command) => command,
};

const reason = "this build has no sandbox, and without one commands would run with your own rights";

/** No sandbox, and no leave to go without: nothing is started at all. */
export const noCommands: Backend = {
  name: "none",
  filesystem: "no commands",
  network: "no commands",
  notes: [`no commands: ${reason} (--no-sandbox accepts that)`],
  confine() {
    throw new KodaError("sandbox", `Cannot run a command: ${reason}`);
  },
};

/** The refusal of a mode in which commands are run unasked. */
export function sandboxNeeded(mode: string): KodaError {
  return new KodaError(
    "sandbox",
    `Cannot run in mode "${mode}": ${reason}. Accept that with --no-sandbox, or take --mode plan, which runs none.`,
  );
}
