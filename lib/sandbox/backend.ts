import { KodaError } from "../errors.ts";
import type { Pipe } from "../system/pipe.ts";
import type { Policy } from "./policy/policy.ts";
import type { Endpoint } from "./supervisor/rules.ts";

/** A command line with nothing left to look up: the program is an absolute path. */
export type Command = {
  argv: readonly [program: string, ...args: string[]];
  cwd: string;
  env: Record<string, string>;
  /** The descriptor of a program that koda brings along: its path means nothing to a confined command. */
  program?: number;
};

/** A command as it has to be spawned, and what it holds until it is over. */
export type Confined = Command & {
  /** Descriptors that it gets beside its streams: the first one is 3 for it. */
  descriptors: readonly number[];
  /**
   * Delivers the command's own status, four bytes as wait() gives them, when the spawned process outlives it, and ends
   * when nothing of it is left running.
   */
  status?: Pipe;
  /** Delivers the message of a command that could not be confined, when its stderr is not koda's to read. */
  complaints?: Pipe;
  /** Lets go of all that, when nothing of the command is left or it could not be started. */
  release(): void;
};

/**
 * "watched": koda reads what the command prints, and lets what it leaves running go on as long as koda pleases.
 * "attached": the command has koda's own streams, and nothing goes on when it is over.
 */
export type Manner = "watched" | "attached";

type ConfineOptions = {
  /**
   * For this command alone: it may do what both this policy and the backend's own allow. A caller that has several
   * commands under one policy passes the same record each time, since what is made of it is kept.
   */
  policy?: Policy;
  /** "watched" when absent. */
  manner?: Manner;
};

/** The addresses of the proxies, as commands reach them. */
export type Proxies = { http: Endpoint; socks: Endpoint };

export type BackendName = "namespaces" | "bwrap" | "landlock" | "none";

/** The rights of commands, each in a word, for the first event and for people. */
type Enforcement = {
  name: BackendName;
  filesystem: "confined" | "open" | "no commands";
  network: "proxies" | "none" | "open" | "no commands";
  /** Known gaps and the reasons why stronger tiers were not taken. */
  notes: readonly string[];
};

/**
 * How commands are confined. There is one spawn in the program (lib/shell/spawn.ts); it asks the backend what to
 * spawn, so a new backend changes no caller.
 */
export type Backend = Enforcement &
  Disposable & {
    /** The policy of all commands that have no narrower one. Absent where commands are not confined. */
    policy?: Policy;
    /** Absent where commands have no way out, or need none. */
    proxies?: Proxies;
    /** Commands find copies of settings in the place of hidden ones; otherwise only where variables lead them there. */
    placesCopies: boolean;
    /** Nothing that a command started can outlive it. */
    ownProcesses: boolean;
    /** It cannot hold protected paths as they are: they have to be restored after each command. */
    guards: boolean;
    /** A command may be in koda's own process group: its signals to all of that reach itself alone. */
    mayShareGroup: boolean;
    /** Makes what the next command needs, as far as that is known, to be faster then. */
    prepare?(): void;
    /** Throws a KodaError when it cannot be confined. */
    confine(command: Command, options?: ConfineOptions): Confined;
  };

/** For `--no-sandbox`: commands run with the user's own rights. */
export const unconfined: Backend = {
  name: "none",
  filesystem: "open",
  network: "open",
  notes: ["commands run with your own rights: the sandbox is off (--no-sandbox)"],
  placesCopies: false,
  ownProcesses: false,
  guards: false,
  mayShareGroup: true,
  confine: (command) => ({ ...command, descriptors: [], release: () => {} }),
  [Symbol.dispose]: () => {},
};

/** No sandbox here, and no leave to go without: nothing is started at all. */
export function noCommands(reasons: readonly string[]): Backend {
  const why = reasons.join("; ");
  return {
    ...unconfined,
    filesystem: "no commands",
    network: "no commands",
    notes: [`no commands: no sandbox works here (--no-sandbox runs without one). ${why}`],
    confine() {
      throw new KodaError("sandbox", `Cannot run a command: no sandbox works here. ${why}`);
    },
  };
}
