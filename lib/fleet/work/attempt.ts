import { aborted } from "../../async/aborted.ts";
import { within } from "../../async/within.ts";
import { type AttemptContext, type AttemptServices, AttemptStop } from "./attemptcontext.ts";
import { type AttemptSetup, setUpAttempt } from "./setup.ts";
import { changesOf, wasInterrupted } from "./changes.ts";
import { Checkpointing } from "./checkpointing.ts";
import type { ChildEnd } from "./child.ts";
import { assertTaskFlags, variablesWithKeys } from "./childarguments.ts";
import { AttemptFailure, endOfFailure } from "./failure.ts";
import { type Masks, masksFor } from "./masks.ts";
import type { WorkTree } from "./worktree.ts";
import { type PublishTarget, pushBranch, readTarget, runPublishCommand } from "./publish.ts";
import { reportOf } from "./runreport.ts";
import { runWithinGrant } from "./runs.ts";
import { userGit } from "./usergit.ts";
import type { AttemptEnd, TaskClaim, Spending } from "../store.ts";

type Ended = Omit<AttemptEnd, "durationMs">;

const hasSecret = "the changes contain the value of a secret variable of this machine, shown as [key] in the patch";

const signalMs = 500;

/** One attempt at a task: its work tree, its runs of `koda exec`, and what comes after them. */
export class TaskAttempt {
  tree: WorkTree | undefined;
  isStored = false;
  /** The changes have the value of a secret variable. */
  #isMasked = false;
  readonly #claim: TaskClaim;
  readonly #options: AttemptServices;
  readonly #context: AttemptContext;
  readonly #masks: Masks;
  /** By all runs so far. */
  #spent: Spending = { costUsd: 0, tokens: 0 };

  constructor(claim: TaskClaim, options: AttemptServices, context: AttemptContext) {
    this.#claim = claim;
    this.#options = options;
    this.#masks = masksFor(claim.settings.transcripts, options.env, variablesWithKeys(claim.task.args));
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
    const { stop, note, askStore } = this.#context;
    const { store, logs, directory, env, isTaskFlag, mayWriteGit, gitLimitMs } = this.#options;
    assertTaskFlags(this.#claim.task.args, isTaskFlag);
    const earlier = () => askStore(() => store.checkpoints(this.#claim));
    const at = { directory, env, signal: stop, mayWriteGit, gitLimitMs };
    const setup = await setUpAttempt(this.#claim, { ...at, logs, earlier, note });
    this.tree = setup.tree;
    const target = await this.#target(setup.tree);
    const { child, isOutOfBudget } = await this.#runWithCheckpoints(setup);
    const end = await this.#endOf(child, isOutOfBudget, setup.tree);
    return end.exit === 0 && target !== undefined ? await this.#publish(end, target, setup.tree) : end;
  }

  async #runWithCheckpoints(setup: AttemptSetup) {
    await using checkpointing = new Checkpointing(this.#claim, {
      ...this.#options,
      ...this.#context,
      tree: setup.tree,
      masks: this.#masks,
      stored: setup.stored,
    });
    const ran = await runWithinGrant({
      claim: this.#claim,
      setup,
      services: this.#options,
      context: this.#context,
      onReply: () => checkpointing.replied(),
      onSpent: (spent) => {
        this.#spent = spent;
        this.#context.onSpent(spent);
      },
    });
    if (ran.child.end?.exit !== 0 && !this.#isLost()) await checkpointing.finish();
    this.isStored = checkpointing.isWhole;
    return ran;
  }

  async #endOf({ end, model, failure }: ChildEnd, isOutOfBudget: boolean, tree: WorkTree): Promise<Ended> {
    if (end?.exit !== 0 && this.#context.stop.aborted) return this.#stopped();
    const about = { spent: this.#spent, session: tree.session, ...(model !== undefined && { model }) };
    if (end === undefined) {
      const error = { code: "killed", message: this.#masks.text(failure) };
      return await this.#withPatch({ ...about, exit: 70, kind: "exit", error }, tree);
    }
    const reporting = { claim: this.#claim, tree, masks: this.#masks, services: this.#options, isOutOfBudget };
    return await this.#withPatch({ ...about, ...(await reportOf(end, reporting)) }, tree);
  }

  /** Without the changes nothing is done; an attempt that has failed keeps its own reason. */
  async #withPatch(end: Ended, tree: WorkTree): Promise<Ended> {
    try {
      const changes = await changesOf(tree, this.#options.gitLimitMs);
      const patch = this.#masks.patch(changes);
      this.#isMasked = Buffer.compare(patch, changes) !== 0;
      return { ...end, patch };
    } catch (error) {
      if (wasInterrupted(error) && (await this.#isStopping())) return this.#stopped();
      if (!(error instanceof AttemptFailure)) throw error;
      this.#context.note(error.message);
      return end.exit === 0 ? { ...end, ...this.#failed(error) } : end;
    }
  }

  #stopped(): Ended {
    const reason: unknown = this.#context.stop.reason;
    const message = reason instanceof Error ? reason.message : "The attempt was stopped";
    const session = this.tree?.session;
    const error = { code: "stopped", message };
    return { exit: 143, kind: "stopped", error, spent: this.#spent, ...(session !== undefined && { session }) };
  }

  /** A signal for all comes to git before it comes to koda; one for git alone must not give the task back for ever. */
  async #isStopping(): Promise<boolean> {
    const { stop } = this.#context;
    await within(signalMs, aborted(stop));
    return stop.aborted;
  }

  #isLost(): boolean {
    const reason: unknown = this.#context.stop.reason;
    return reason instanceof AttemptStop && reason.why === "lost";
  }

  async #target({ shadow }: WorkTree): Promise<PublishTarget | undefined> {
    if (shadow === undefined || this.#claim.task.publish === undefined) return undefined;
    const user = userGit(this.#options.env);
    return await readTarget({ claim: this.#claim, user, shadow, signal: this.#context.stop });
  }

  /** Only for an attempt that counts: the claim is asked for just before. */
  async #publish(end: Ended, target: PublishTarget, { shadow, root }: WorkTree): Promise<Ended> {
    if (shadow === undefined || (end.patch?.length ?? 0) === 0) return end;
    try {
      if (this.#isMasked) throw new AttemptFailure("publish", `Could not publish "${target.branch}": ${hasSecret}`);
      if (this.#context.stop.aborted || !(await this.#context.holds())) return this.#stopped();
      const user = userGit(this.#options.env);
      const publishing = { claim: this.#claim, user, shadow, root, signal: this.#context.stop };
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
}
