import { type ListErrors, shownJson } from "./listerrors.ts";
import type { FleetTask } from "../task.ts";

type Publisher = { line: number; task: Pick<FleetTask, "repo" | "ref" | "publish"> };

/**
 * Of several tasks that publish one branch all but one have to begin with it: a push replaces what the branch had when
 * the task began, and nothing would say so.
 */
export function checkBranches(publishers: Iterable<Publisher>, errors: ListErrors): void {
  const lines = new Map<string, number>();
  for (const { line, task } of publishers) {
    const { repo = "", ref, publish } = task;
    if (publish === undefined || ref?.replace(/^refs\/heads\//, "") === publish.branch) continue;
    const target = JSON.stringify([repo, publish.branch]);
    const earlier = lines.get(target);
    if (earlier === undefined) lines.set(target, line);
    else
      errors.add(
        line,
        `"publish" ${shownJson(publish.branch)}: line ${earlier} publishes this branch of the same repository, and one ` +
          "would replace what the other did: expected another branch, or this one as the ref too",
      );
  }
}
