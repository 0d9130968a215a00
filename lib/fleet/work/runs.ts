import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AttemptContext, AttemptServices } from "./attemptcontext.ts";
import type { AttemptSetup } from "./setup.ts";
import { nextPatchFile } from "./changes.ts";
import { type ChildEnd, runChild } from "./child.ts";
import { argumentsFor, limitsFor, promptFor, wantsMore } from "./childarguments.ts";
import type { WorkTree } from "./worktree.ts";
import { workDirectory } from "./workdirectory.ts";
import type { Spending, TaskClaim } from "../store.ts";
import type { FleetTask } from "../task.ts";

type Runs = {
  claim: TaskClaim;
  setup: AttemptSetup;
  services: AttemptServices;
  context: Pick<AttemptContext, "stop" | "askStore">;
  /** By all runs so far. */
  onSpent(spent: Spending): void;
  onReply(): void;
};

/** Runs `koda exec`, and again while it stops at a limit that the batch can raise. */
export async function runWithinGrant(runs: Runs): Promise<{ child: ChildEnd; isOutOfBudget: boolean }> {
  const { claim, setup, services, context, onSpent, onReply } = runs;
  const { program, env, store, pids, flags = [] } = services;
  const { task } = claim;
  const { tree } = setup;
  const line = {
    task: { ...task, args: [...task.args, ...flags] },
    session: tree.session,
    directory: workDirectory(tree, task),
    schema: schemaFile(tree, task),
    tree,
    batches: services.directory,
  };
  let [spent, grant, how]: [Spending, Partial<Spending>, AttemptSetup["how"]] = [nothing, claim.grant, setup.how];
  while (true) {
    const before = spent;
    const spend = (more: Spending) => onSpent((spent = sum(before, more)));
    const limits = limitsFor(task, { grant, spent: before });
    const child = await runChild({
      program,
      env,
      args: argumentsFor({ ...line, how, limits, patch: tree.shadow === undefined ? nextPatchFile(tree) : undefined }),
      prompt: promptFor(how, task),
      signal: context.stop,
      pids,
      onUsage: (more) => {
        spend(more);
        onReply();
      },
    });
    spend(child.spent);
    if (context.stop.aborted || !wantsMore(child, limits)) return { child, isOutOfBudget: false };
    const more = await context.askStore(() => store.grantMore(claim, spent));
    if (more === undefined) return { child, isOutOfBudget: true };
    [grant, how] = [more, "resume"];
  }
}

const nothing: Spending = { costUsd: 0, tokens: 0 };

function sum(one: Spending, other: Spending): Spending {
  return {
    costUsd: one.costUsd + other.costUsd,
    tokens: one.tokens + other.tokens,
    isUnpriced: one.isUnpriced === true || other.isUnpriced === true,
  };
}

function schemaFile({ state }: WorkTree, { schema }: FleetTask): string | undefined {
  if (schema === undefined) return undefined;
  const file = join(state, "schema.json");
  writeFileSync(file, JSON.stringify(schema));
  return file;
}
