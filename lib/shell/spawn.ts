import { messageOf } from "../errors.ts";
import type { Backend, Confined } from "../sandbox/backend.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { isSeen as isSeenBy } from "../sandbox/policy/seen.ts";
import { attach, type Attached } from "./attach.ts";
import { closeOutlet, drain, openOutlet } from "./drain.ts";
import { isGroupAlive, killNow, takeDown } from "./kill.ts";
import { withOpenFilesLimit } from "./libc.ts";
import { originalOpenFiles } from "./limits.ts";
import { closePipe } from "./pipe.ts";
import { marked, markVariable, mayHaveChildren, newFamily, unmarked } from "./processes.ts";
import { type ProcessStat, terminalOf } from "./procstat.ts";
import { cannotStart, commandOf, type CommandLine, type ProgramLine } from "./program.ts";
import { readStatus } from "./status.ts";
import { type Child, supervise, type Running, type Supervision } from "./supervise.ts";

export type StartOptions = Supervision &
  Where & {
    /** Called with every piece of output as it comes. The bytes are only lent: they are gone after the call. */
    stdout(bytes: Uint8Array): void;
    stderr(bytes: Uint8Array): void;
  };

type Where = {
  /** The policy's root when absent. */
  cwd?: string;
  /** Variables on top of the shell's environment. */
  env?: Readonly<Record<string, string>>;
  /** For this command alone, instead of the shell's: the sandbox holds it to what its own policy allows as well. */
  policy?: Policy;
};

/** The one place where programs are started. */
export type Shell = {
  /** How long one command may take at most. */
  readonly maxSeconds: number;
  /** Whether a sandbox may be the reason that a command fails. */
  readonly confined: boolean;
  /** Throws a KodaError when nothing could be started at all. */
  start(line: CommandLine, options: StartOptions): Running;
  /** Gives a program koda's own streams. Throws like `start`; `stopAll` ends what it leaves behind. */
  attach(line: ProgramLine, options?: Where): Attached;
  /** Stops everything that was started here and still runs, what escaped its group included. */
  stopAll(): Promise<void>;
  /** The same with KILL and without waiting, for a program that exits right now. */
  killNow(): void;
};

type ShellOptions = {
  backend: Backend;
  policy: Policy;
  env: Readonly<Record<string, string>>;
  maxSeconds?: number;
};

export function createShell({ backend, policy, env, maxSeconds = 300 }: ShellOptions): Shell {
  // Two shells in one process never take each other's commands down.
  const family = newFamily();
  const running = new Map<number, Running>();
  const openFiles = originalOpenFiles();
  let count = 0;
  let sharesSession = false;
  return {
    maxSeconds,
    confined: backend.filesystem === "confined",

    start(line, options) {
      const mark = nextMark();
      const command = backend.confine(commandOf(line, surroundings(mark, options)), {
        policy: options.policy ?? policy,
      });
      const launched = withOpenFilesLimit(openFiles, () => launch(line, command, options));

      const started = supervise({ ...launched, mark }, options);
      const forget = () => {
        running.delete(started.pid);
        command.release();
      };
      running.set(started.pid, started);
      started.ended.then(forget, forget);
      return started;
    },

    attach(line, where = {}) {
      const mark = nextMark();
      const command = backend.confine(commandOf(line, surroundings(mark, where)), {
        policy: where.policy ?? policy,
        manner: "attached",
      });
      const sharesGroup = backend.mayShareGroup && terminalOf(process.pid) !== undefined;
      sharesSession ||= sharesGroup;
      const attached = withOpenFilesLimit(openFiles, () => attach(line, { command, mark, sharesGroup }));
      attached.ended.then(command.release, command.release);
      return attached;
    },

    async stopAll() {
      await Promise.all([...running.values()].map(async (each) => each.stop()));
      if (count > 0 && mayHaveChildren()) await takeDown(strays);
    },

    killNow() {
      if (count === 0) return;
      const groups = [...running.keys()];
      killNow(() => [...groups.filter(isGroupAlive).map((group) => -group), ...strays()]);
    },
  };

  function nextMark(): string {
    return `${family}${++count}/`;
  }

  function surroundings(mark: string, { policy: seenBy = policy, cwd = seenBy.root, env: more }: Where) {
    const isSeen = (path: string) => backend.filesystem !== "confined" || isSeenBy(path, seenBy);
    return { cwd, env: { ...env, ...more, [markVariable]: mark }, isSeen };
  }

  /** What left its group, and what is left of groups whose command is over. */
  function strays(): number[] {
    const isStray = ({ group }: ProcessStat) => !running.has(group);
    return [...marked(family), ...unmarked({ sharesSession })].filter(isStray).map(({ pid }) => pid);
  }
}

type Launched = Pick<Child, "process" | "drains" | "report">;

function launch(line: CommandLine, command: Confined, { stdout, stderr }: StartOptions): Launched {
  const { argv, cwd, env, descriptors, status } = command;
  const [out, err] = [openOutlet(), openOutlet()];
  try {
    // Detached: a session and a group of its own, so that one signal reaches all of it.
    const child = Bun.spawn([...argv], {
      cwd,
      env,
      detached: true,
      stdio: ["ignore", out.stdio, err.stdio, ...descriptors],
    });
    return {
      process: child,
      drains: [drain(out, child.stdout, stdout), drain(err, child.stderr, stderr)],
      ...(status && { report: readStatus(status) }),
    };
  } catch (error) {
    closeOutlet(out);
    closeOutlet(err);
    closePipe(status);
    command.release();
    throw cannotStart(line, messageOf(error), { cause: error });
  }
}
