import { LogTransfer } from "../../session/transfer.ts";
import { sendSignal } from "../../system/kill.ts";
import { TaskAttempt } from "./attempt.ts";
import type { AttemptContext, AttemptOptions } from "./attemptcontext.ts";
import { protectsGit } from "./machinesandbox.ts";
import { releaseWorkTree, removeWorkTree, type WorkTree } from "./worktree.ts";
import type { AttemptEnd, Settled, TaskClaim } from "../store.ts";

/** Carries out claims, and cleans up when the store has said what becomes of their tasks. */
export class Attempts implements Disposable {
  readonly #options: AttemptOptions;
  readonly #logs: LogTransfer;
  /** Of the children. */
  readonly #pids = new Set<number>();
  /** Those of attempts that are not settled; `isStored`: a later one can go on without the work tree. */
  readonly #trees = new Map<TaskClaim, { tree: WorkTree; isStored: boolean }>();
  /** Asked once, and while the first repository is fetched. */
  #isGitOpen: Promise<boolean> | undefined;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#logs = new LogTransfer(options.database);
  }

  async run(claim: TaskClaim, context: AttemptContext): Promise<AttemptEnd> {
    const startedAt = performance.now();
    const mayWriteGit = claim.task.repo === undefined ? false : this.#mayWriteGit();
    const options = { ...this.#options, mayWriteGit, logs: this.#logs, pids: this.#pids };
    const attempt = new TaskAttempt(claim, options, context);
    const end = await attempt.run();
    // One that goes on where an earlier attempt was does not ask, and leaves no process all the same.
    await mayWriteGit;
    if (attempt.tree !== undefined) this.#trees.set(claim, { tree: attempt.tree, isStored: attempt.isStored });
    return { ...end, durationMs: Math.round(performance.now() - startedAt) };
  }

  #mayWriteGit(): boolean | Promise<boolean> {
    if (this.#options.mayWriteGit === true) return true;
    const ask = () =>
      protectsGit(this.#options).then(
        (isProtected) => !isProtected,
        () => true,
      );
    return (this.#isGitOpen ??= ask());
  }

  /** For a process that exits at once. */
  killNow(): void {
    for (const pid of this.#pids) sendSignal(pid, "SIGKILL");
  }

  /** Returns why a work tree could not be removed. */
  async settled(claim: TaskClaim, { kind }: Pick<Settled, "kind">): Promise<string | undefined> {
    const found = this.#trees.get(claim);
    this.#trees.delete(claim);
    if (found === undefined) return undefined;
    const { tree, isStored } = found;
    const { keepTrees = false } = this.#options;
    const goesOn = kind === "retried" || kind === "returned";
    if (!goesOn || (isStored && !keepTrees))
      return await removeWorkTree({ ...tree, isInPlace: tree.isInPlace || keepTrees });
    releaseWorkTree(tree, claim);
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#logs.close();
  }
}
