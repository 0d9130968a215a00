import type { AttemptServices } from "./attemptcontext.ts";
import type { ChildEnd } from "./child.ts";
import { judgeEnd } from "./machinefault.ts";
import type { Masks } from "./masks.ts";
import type { WorkTree } from "./worktree.ts";
import type { AttemptEnd, TaskClaim } from "../store.ts";

type RunEnd = NonNullable<ChildEnd["end"]>;

type Reporting = {
  claim: TaskClaim;
  tree: WorkTree;
  masks: Masks;
  services: AttemptServices;
  /** The limit of the run was its grant, of which the user knows nothing. */
  isOutOfBudget: boolean;
};

type Report = Pick<AttemptEnd, "exit" | "kind" | "error" | "retryAt" | "result">;

/** The end of a run of `koda exec`, as far as the batch lets the store keep it. */
export async function reportOf(run: RunEnd, reporting: Reporting): Promise<Report> {
  const { claim, tree, masks, services, isOutOfBudget } = reporting;
  const end = claim.settings.transcripts === "none" ? withoutWords(run) : run;
  const { exit, kind, code } = await judgeEnd(end, { ...services, state: tree.state, flags: claim.task.args });
  const { message: said = "", retry_at: retryAt } = end.error ?? {};
  const message = isOutOfBudget
    ? "The budget of the batch is spent, or reserved for other tasks"
    : said.replace(/ \(--max-(tokens|cost)\)$/, " (--task-max-$1)");
  return {
    exit,
    kind: isOutOfBudget ? "budget" : kind,
    ...(code !== undefined && { error: { code, message: masks.text(message) } }),
    ...(retryAt !== undefined && { retryAt: Date.parse(retryAt) }),
    result: resultOf(end, reporting),
  };
}

/** The reasons that have words of the model. */
const plainReasons: ReadonlyMap<string, string> = new Map([
  ["blocked", "The task is blocked"],
  ["schema", "The answer does not match the schema"],
]);

function withoutWords(run: RunEnd): RunEnd {
  const { text: _, output: __, incomplete, ...end } = run;
  const { error } = end;
  const message = plainReasons.get(error?.code ?? "");
  return {
    ...end,
    // They quote the answer after a colon.
    ...(incomplete && { incomplete: incomplete.map((reason) => reason.replace(/: .*/s, "")) }),
    ...(error !== undefined && message !== undefined && { error: { ...error, message } }),
  };
}

/** koda's own account of the run is kept always. */
function resultOf(end: RunEnd, { tree, masks, services }: Reporting): Record<string, unknown> {
  const { v: _, seq: __, at: ___, type: ____, resume, ...result } = end;
  // The command line works in the tree, which is removed when the task is settled.
  return masks.fields({ ...result, ...((tree.isInPlace || services.keepTrees) && { resume }) });
}
