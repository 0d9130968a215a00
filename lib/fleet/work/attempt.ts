import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import type { LogTransfer } from "../../session/transfer.ts";
import { GitError } from "../../git/program.ts";
import { assertPatchSize } from "./basis.ts";
import { type Beginning, beginAttempt } from "./beginning.ts";
import { Checkpointing } from "./checkpointing.ts";
import { type ChildEnd, runChild } from "./child.ts";
import { argumentsFor, assertTaskFlags, limitsFor, promptFor, wantsMore } from "./childline.ts";
import { AttemptFailure, endOfFailure } from "./failure.ts";
import { judgeEnd } from "./machinefault.ts";
import { limited } from "./limited.ts";
import { type Masks, masksFor } from "./masks.ts";
import { workDirectory, type WorkPlace } from "./place.ts";
import { type PublishTarget, pushBranch, readTarget, runPublishCommand } from "./publish.ts";
import { userGit } from "./usergit.ts";
import type { AttemptEnd, TaskClaim, FleetStore, Spending } from "../store.ts";

/** Why an attempt is stopped before its end. */
export class AttemptStop extends Error {
  override readonly name = "AttemptStop";
  /** `lost`: another worker has the task. */
  readonly why: "lost" | "cancelled" | "leaving";

  constructor(why: AttemptStop["why"]) {
    super(stopWords[why]);
    this.why = why;
  }
}

const stopWords: Readonly<Record<AttemptStop["why"], string>> = {
  lost: "Stopped, since another worker has the task",
  cancelled: "Stopped, since the batch was cancelled",
  leaving: "Stopped with its worker",
};

/** A worker, as one of its attempts sees it. */
export type AttemptContext = {
  /** Its reason is an AttemptStop. */
  stop: AbortSignal;
  /** All that the attempt has spent so far. */
  onSpent(spent: Spending): void;
  note(message: string): void;
  /** Asks the store, also when it cannot be reached for a while. */
  reach<T>(ask: () => Promise<T>): Promise<T>;
  /** The store has just said that the claim is held. */
  holds(): Promise<boolean>;
};

export type AttemptOptions = {
  store: FleetStore;
  /** koda's session database. */
  database: string;
  /** Of the work trees, in a directory for each batch. */
  directory: string;
  /** The words that start `koda`. */
  program: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  keepTrees?: boolean | undefined;
  /** The flags of `koda exec` that a task may have. Some of the others run commands outside of the sandbox. */
  isTaskFlag(name: string): boolean;
  /** Commands may change what is in `.git`: by a flag for every task, or by the user's configuration. */
  mayWriteGit?: boolean | Promise<boolean> | undefined;
  /** Flags of `koda exec` for every task, which only the worker's own user may give. */
  flags?: readonly string[] | undefined;
  /** Run by the shell after a push. */
  publishCommand?: string | undefined;
  /** The least time between two checkpoints. */
  checkpointMs?: number | undefined;
  /** The longest that git may work at a tree. */
  gitLimitMs?: number | undefined;
};

type Services = AttemptOptions & { logs: LogTransfer; pids: Set<number> };
type Ended = Omit<AttemptEnd, "durationMs">;

/** One attempt at a task: its place, its runs of `koda exec`, and what comes after them. */
export class TaskAttempt {
  place: WorkPlace | undefined;
  isStored = false;
  readonly #claim: TaskClaim;
  readonly #options: Services;
  readonly #context: AttemptContext;
  readonly #masks: Masks;
  /** Of the runs before the present one. */
  #spent: Spending = { costUsd: 0, tokens: 0 };

  constructor(claim: TaskClaim, options: Services, context: AttemptContext) {
    this.#claim = claim;
    this.#options = options;
    this.#masks = masksFor(claim.settings.transcripts, options.env, keyVariables(claim.task.args));
    this.#context = { ...context, note: (message) => context.note(this.#masks.text(message)) };
  }

  async run(): Promise<Ended> {
    try {
      return await this.#carryOut();
    } catch (error) {
      if (this.#context.stop.aborted) return this.#stopped();
      return { ...this.#failed(error), spent: this.#spent };
    }
  }

  async #carryOut(): Promise<Ended> {
    const { stop, note, reach } = this.#context;
    const { store, logs, directory, env, isTaskFlag, mayWriteGit = false, gitLimitMs } = this.#options;
    assertTaskFlags(this.#claim.task.args, isTaskFlag);
    const earlier = () => reach(() => store.checkpoints(this.#claim));
    const places = { directory, env, signal: stop, mayWriteGit, gitLimitMs };
    const beginning = await beginAttempt(this.#claim, { ...places, logs, earlier, note });
    this.place = beginning.place;
    const target = await this.#target(beginning.place);
    const checkpointing = new Checkpointing(this.#claim, {
      ...this.#options,
      ...this.#context,
      place: beginning.place,
      masks: this.#masks,
      stored: beginning.stored,
    });
    const { child, isOutOfBudget } = await this.#runChildren(beginning, checkpointing);
    const isDone = child.end?.exit === 0;
    if (isDone || this.#isLost()) await checkpointing.stop();
    else await checkpointing.finish();
    this.isStored = checkpointing.isWhole;
    const end = await this.#endOf(child, isOutOfBudget, beginning.place);
    return isDone && target !== undefined ? await this.#publish(end, target, beginning.place) : end;
  }

  /** Runs `koda exec`, and again while it stops at a limit that the batch can raise. */
  async #runChildren({ place, how }: Beginning, checkpointing: Checkpointing) {
    const { program, env, store } = this.#options;
    const { task } = this.#claim;
    const line = {
      task: { ...task, args: [...task.args, ...(this.#options.flags ?? [])] },
      session: place.session,
      directory: workDirectory(place, task),
      schema: this.#schemaFile(place),
      place,
      places: this.#options.directory,
    };
    let grant = this.#claim.grant;
    while (true) {
      const before = this.#spent;
      const limits = limitsFor(task, { grant, spent: before });
      const child = await runChild({
        program,
        env,
        args: argumentsFor({ ...line, how, limits, patch: place.basis === undefined ? patchFile(place) : undefined }),
        prompt: promptFor(how, task),
        signal: this.#context.stop,
        pids: this.#options.pids,
        onUsage: (spent) => {
          this.#spend(sum(before, spent));
          checkpointing.replied();
        },
      });
      this.#spend(sum(before, child.spent));
      if (this.#context.stop.aborted || !wantsMore(child, limits)) return { child, isOutOfBudget: false };
      const more = await this.#context.reach(() => store.grantMore(this.#claim, this.#spent));
      if (more === undefined) return { child, isOutOfBudget: true };
      [grant, how] = [more, "resume"];
    }
  }

  #spend(spent: Spending): void {
    this.#spent = spent;
    this.#context.onSpent(spent);
  }

  async #endOf({ end, failure }: ChildEnd, isOutOfBudget: boolean, place: WorkPlace): Promise<Ended> {
    if (end?.exit !== 0 && this.#context.stop.aborted) return this.#stopped();
    const about = { spent: this.#spent, session: place.session };
    if (end === undefined) {
      const error = { code: "killed", message: this.#masks.text(failure) };
      return await this.#withPatch({ ...about, exit: 70, kind: "exit", error }, place);
    }
    const { exit, kind, code } = await judgeEnd(end, { ...this.#options, state: place.state });
    const { message = "", retry_at: retryAt } = end.error ?? {};
    const ended: Ended = {
      ...about,
      exit,
      kind: isOutOfBudget ? "budget" : kind,
      ...(code !== undefined && { error: { code, message: this.#masks.text(message) } }),
      ...(retryAt !== undefined && { retryAt: Date.parse(retryAt) }),
      result: this.#resultOf(end),
    };
    return await this.#withPatch(ended, place);
  }

  /** Without the changes nothing is done; an attempt that has failed keeps its own reason. */
  async #withPatch(end: Ended, place: WorkPlace): Promise<Ended> {
    try {
      return { ...end, patch: await this.#patch(place) };
    } catch (error) {
      if (wasInterrupted(error)) return this.#stopped();
      const failure = patchFailure(error);
      this.#context.note(failure.message);
      return end.exit === 0 ? { ...end, ...this.#failed(failure) } : end;
    }
  }

  /** koda's own account of the run is kept always; the model's words as far as the batch allows. */
  #resultOf(end: Record<string, unknown>): Record<string, unknown> {
    const { v: _, seq: __, at: ___, type: ____, text, ...result } = end;
    const kept = this.#claim.settings.transcripts === "none" ? result : { ...result, text };
    // Value by value: what is masked in a JSON text may be a part of its syntax.
    return JSON.parse(JSON.stringify(kept), (_, value: unknown) =>
      typeof value === "string" ? this.#masks.text(value) : value,
    );
  }

  #stopped(): Ended {
    const reason: unknown = this.#context.stop.reason;
    const message = reason instanceof Error ? reason.message : "The attempt was stopped";
    const session = this.place?.session;
    const error = { code: "stopped", message };
    return { exit: 143, kind: "stopped", error, spent: this.#spent, ...(session !== undefined && { session }) };
  }

  #isLost(): boolean {
    const reason: unknown = this.#context.stop.reason;
    return reason instanceof AttemptStop && reason.why === "lost";
  }

  async #patch(place: WorkPlace): Promise<Uint8Array> {
    // Also of an attempt that ends while the worker is told to stop.
    const ms = this.#options.gitLimitMs ?? patchLimitMs;
    const limit = { ms, signal: never, code: "patch", what: "The changes cannot be read" } as const;
    const patch = await limited(limit, async (signal) => await place.basis?.patch(signal));
    if (patch !== undefined) return this.#masks.patch(patch);
    assertPatchSize(unlessRefused(() => statSync(patchFile(place)).size) ?? 0);
    const written = unlessRefused(() => new Uint8Array(readFileSync(patchFile(place))));
    return this.#masks.patch(written ?? new Uint8Array());
  }

  async #target({ basis }: WorkPlace): Promise<PublishTarget | undefined> {
    if (basis === undefined || this.#claim.task.publish === undefined) return undefined;
    return await readTarget(this.#claim, { user: userGit(this.#options.env), basis, signal: this.#context.stop });
  }

  /** Only for an attempt that counts: the claim is asked for just before. */
  async #publish(end: Ended, target: PublishTarget, { basis, root }: WorkPlace): Promise<Ended> {
    if (basis === undefined || (end.patch?.length ?? 0) === 0) return end;
    try {
      if (this.#context.stop.aborted || !(await this.#context.holds())) return this.#stopped();
      const user = userGit(this.#options.env);
      const publishing = { claim: this.#claim, user, basis, root, signal: this.#context.stop };
      const published = await pushBranch(publishing, target);
      const { publishCommand } = this.#options;
      if (publishCommand !== undefined) await runPublishCommand(publishCommand, publishing, published);
      return { ...end, published };
    } catch (error) {
      if (this.#context.stop.aborted) return this.#stopped();
      if (!(error instanceof AttemptFailure)) throw error;
      return { ...end, ...this.#failed(error) };
    }
  }

  /** Programs say what they like when they fail. */
  #failed(error: unknown): ReturnType<typeof endOfFailure> {
    const { error: about, ...end } = endOfFailure(error);
    return { ...end, error: { code: about?.code ?? "internal", message: this.#masks.text(about?.message ?? "") } };
  }

  #schemaFile({ state }: WorkPlace): string | undefined {
    const { schema } = this.#claim.task;
    if (schema === undefined) return undefined;
    const file = join(state, "schema.json");
    writeFileSync(file, JSON.stringify(schema));
    return file;
  }
}

/** Whatever git does not understand in a tree, a task has put there; a full disk it has not. */
function patchFailure(error: unknown): AttemptFailure {
  if (error instanceof AttemptFailure && error.code === "patch") return error;
  if (!(error instanceof GitError) || endOfFailure(error).kind === "fault") throw error;
  return new AttemptFailure("patch", `The changes cannot be read: ${error.message}`, error);
}

/** By a signal for the whole process group, as of Ctrl-C, which may come to git before it comes to koda. */
function wasInterrupted(error: unknown): boolean {
  return error instanceof GitError && [129, 130, 143].includes(error.exitCode ?? 0);
}

const patchLimitMs = 10 * 60_000;

const never = new AbortController().signal;

/** For a directory that koda did not make: the changes of the run. */
function patchFile({ state }: WorkPlace): string {
  return join(state, "run.patch");
}

function sum(one: Spending, other: Spending): Spending {
  return {
    costUsd: one.costUsd + other.costUsd,
    tokens: one.tokens + other.tokens,
    isUnpriced: one.isUnpriced === true || other.isUnpriced === true,
  };
}

/** The names after `--api-key-env`. */
function keyVariables(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    if (arg === "--api-key-env") return args[index + 1] ?? [];
    return arg.startsWith("--api-key-env=") ? arg.slice("--api-key-env=".length) : [];
  });
}
