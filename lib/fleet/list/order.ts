import { nearest } from "../../nearest.ts";
import type { ListErrors } from "./listerrors.ts";

/** A task in its list. */
type Placed = { line: number; key: string; after: readonly string[] };

/** Names every key that there is not, and every cycle. */
export function checkOrder(tasks: readonly Placed[], errors: ListErrors): void {
  const byKey = new Map(tasks.map((task) => [task.key, task]));
  for (const { line, key, after } of tasks)
    for (const other of after) {
      if (other === key) errors.add(line, `"after": "${key}" depends on itself`);
      else if (!byKey.has(other)) errors.add(line, `"after": there is no task "${other}"${didYouMean(other, byKey)}`);
    }
  if (errors.any) return;
  for (const cycle of cyclesIn(byKey))
    errors.add(cycle.line, `"after": these tasks wait for each other: ${cycle.keys.join(" → ")}`);
}

/** For a list of thousands, the search for a similar key would take long. */
function didYouMean(word: string, keys: ReadonlyMap<string, unknown>): string {
  const found = keys.size > 2_000 ? undefined : nearest(word, keys.keys());
  return found === undefined ? "" : ` (did you mean "${found}"?)`;
}

type Cycle = { line: number; keys: string[] };

/** Depth first, without recursion: a chain may have thousands of tasks. Tasks are left out when they are finished. */
function cyclesIn(byKey: ReadonlyMap<string, Placed>): Cycle[] {
  const finished = new Set<string>();
  const cycles: Cycle[] = [];
  for (const start of byKey.values()) {
    const path: { task: Placed; next: number }[] = [];
    const onPath = new Map<string, number>();
    const enter = (task: Placed) => {
      onPath.set(task.key, path.length);
      path.push({ task, next: 0 });
    };
    if (!finished.has(start.key)) enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const key = top.task.after[top.next++];
      const task = key === undefined ? undefined : byKey.get(key);
      if (task === undefined) {
        finished.add(top.task.key);
        onPath.delete(top.task.key);
        path.pop();
      } else if (onPath.has(task.key)) {
        const keys = path.slice(onPath.get(task.key)).map((step) => step.task.key);
        cycles.push({ line: task.line, keys: [...keys, task.key] });
      } else if (!finished.has(task.key)) enter(task);
    }
  }
  return cycles;
}
