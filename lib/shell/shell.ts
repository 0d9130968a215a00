import type { Backend, Confined, Manner } from "../sandbox/backend.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { isSeen } from "../sandbox/policy/seen.ts";
import { killNow, terminate } from "../system/kill.ts";
import { originalOpenFiles, withSoftLimits } from "../system/limits.ts";
import { hasLivingMember, type ProcessStat, terminalOf } from "../system/procstat.ts";
import { attach, type Attached } from "./attach.ts";
import { drain, type Take } from "./drain.ts";
import { type Child, Job, type JobOptions } from "./job.ts";
import { type Mark, marked, markVariable, memberOf, newFamily } from "./marks.ts";
import { type PipedProgram, ProgramInput, ProgramOutput } from "./piped.ts";
import { commandOf, type CommandLine, type ProgramLine } from "./program.ts";
import type { Reaper } from "./reaper.ts";
import { spawn } from "./spawn.ts";

type Setting = {
  /** The policy's root when absent. */
  cwd?: string;
  /** Variables on top of the shell's environment. */
  env?: Readonly<Record<string, string>>;
  /** The descriptor of a program that koda brings along, which the line names by koda's own path of it. */
  program?: number;
  /** The shell's own when absent. The backend holds the command to what its own policy allows as well. */
  policy?: Policy;
};

export type StartOptions = JobOptions & Setting & { stdout: Take; stderr: Take };
export type OpenOptions = JobOptions & Setting & { stderr: Take };

export type ShellOptions = {
  backend: Backend;
  policy: Policy;
  env: Readonly<Record<string, string>>;
  /** The most that one command may take. */
  maxSeconds?: number;
  /** Finds what a command has stripped of every mark; shared by all shells of the process. */
  reaper?: Reaper | undefined;
};

/** The one place where commands are started. Of several in one process each stops only what it has started itself. */
export class Shell implements AsyncDisposable {
  readonly maxSeconds: number;
  /** A sandbox may be the reason that a command fails. */
  readonly confined: boolean;

  readonly #options: ShellOptions;
  readonly #family = newFamily();
  readonly #openFiles = originalOpenFiles();
  readonly #running = new Map<number, Job>();
  /** A process may exit a moment after its command is over, and only Bun may wait for it. */
  readonly #unreaped = new Set<number>();
  #count = 0;
  #sharesSession = false;

  constructor(options: ShellOptions) {
    this.#options = options;
    this.maxSeconds = options.maxSeconds ?? 300;
    this.confined = options.backend.filesystem === "confined";
  }

  /** Has it started anything? */
  get isUsed(): boolean {
    return this.#count > 0;
  }

  /** Starts a command without input. Throws a KodaError when nothing could be started at all. */
  start(line: CommandLine, options: StartOptions): Job {
    const { command, mark } = this.#prepare(line, options);
    const spawned = this.#limited(mark, () => spawn(line, command, "empty"));
    const drains = [drain(spawned.stdout, options.stdout), drain(spawned.stderr, options.stderr)];
    return this.#watch({ ...spawned, drains, mark }, { command, options });
  }

  /** Starts a program that koda talks to while it runs. Throws like `start`. */
  open(line: CommandLine, options: OpenOptions): PipedProgram {
    const { command, mark } = this.#prepare(line, options);
    const spawned = this.#limited(mark, () => spawn(line, command, "pipe"));
    const stdin = new ProgramInput(spawned.stdin);
    const stdout = new ProgramOutput(spawned.stdout, spawned.process.exited);
    const drains = [stdout, drain(spawned.stderr, options.stderr)];
    const job = this.#watch({ ...spawned, drains, mark }, { command, options });
    const abandon = () => stdin.abandon();
    job.ended.then(abandon, abandon);
    return { pid: job.pid, ended: job.ended, stdin, stdout, stop: async () => job.stop() };
  }

  /** Gives a program koda's own streams. Throws like `start`; `stopAll` ends what it leaves behind. */
  attach(line: ProgramLine, setting: Setting = {}): Attached {
    const { command, mark } = this.#prepare(line, setting, "attached");
    const sharesGroup = this.#options.backend.mayShareGroup && terminalOf(process.pid) !== undefined;
    this.#sharesSession ||= sharesGroup;
    const attached = this.#limited(mark, () => attach(line, { command, mark, sharesGroup }));
    attached.ended.then(command.release, command.release);
    return attached;
  }

  /** Stops everything that was started here and still runs, including what escaped its group. */
  async stopAll(): Promise<void> {
    await Promise.all([...this.#running.values()].map(async (job) => job.stop()));
    const { reaper } = this.#options;
    reaper?.leave(this);
    if (this.#count === 0 || reaper?.mayHaveChildren() === false) return;
    await terminate(() => this.#strays());
    reaper?.killChains(this.#unreaped);
  }

  /** The same with KILL and without waiting, for a process that is about to exit. */
  killNow(): void {
    this.#options.reaper?.leave(this);
    if (this.#count === 0) return;
    const groups = () => [...this.#running.keys()].filter((group) => hasLivingMember(group) ?? true);
    killNow(() => [...groups().map((group) => -group), ...this.#strays()]);
    this.#options.reaper?.killChains(this.#unreaped);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopAll();
  }

  #prepare(line: CommandLine, setting: Setting, manner: Manner = "watched"): { command: Confined; mark: Mark } {
    const { backend, env, reaper } = this.#options;
    const { policy = this.#options.policy, cwd = policy.root, env: more, program } = setting;
    reaper?.enter(this);
    const mark = memberOf(this.#family, ++this.#count);
    const command = commandOf(line, {
      cwd,
      env: { ...env, ...more, [markVariable]: mark.toString() },
      isSeen: (path) => !this.confined || isSeen(path, policy),
      writable: [policy.root, ...policy.write],
    });
    const brought = program === undefined ? command : { ...command, program };
    return { command: backend.confine(brought, { policy, manner }), mark };
  }

  #limited<T>(mark: Mark, start: () => T): T {
    return withSoftLimits({ openFiles: this.#openFiles, realTime: mark }, start);
  }

  #watch(child: Child, { command, options }: { command: Confined; options: JobOptions }): Job {
    const job = new Job(child, options);
    const forget = () => {
      this.#running.delete(job.pid);
      command.release();
    };
    this.#running.set(job.pid, job);
    this.#unreaped.add(job.pid);
    job.ended.then(forget, forget);
    child.process.exited.then(() => this.#unreaped.delete(job.pid));
    return job;
  }

  /** Processes that left their group, and what is left of groups whose command is over. */
  #strays(): number[] {
    const unclaimed = this.#options.reaper?.unclaimed({ sharesSession: this.#sharesSession }) ?? [];
    const isStray = ({ pid, group }: ProcessStat) => !this.#running.has(group) && !this.#unreaped.has(pid);
    return [...marked(this.#family), ...unclaimed].filter(isStray).map(({ pid }) => pid);
  }
}
