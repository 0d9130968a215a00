import type { FleetTask } from "../task.ts";

/** One of `of` parts, counted from 1. */
export type Shard = { index: number; of: number };

/**
 * The tasks of one shard, in the order of the list. All shards of a list are made alike, so that they have every task
 * once: tasks that wait for each other stay together, and each such group, in the order of its first task, goes to the
 * shard that has the fewest.
 */
export function tasksOfShard(tasks: readonly FleetTask[], { index, of }: Shard): FleetTask[] {
  const groups = Map.groupBy(tasks, rootsOf(tasks));
  const sizes = Array.from({ length: of }, () => 0);
  const mine = new Set<FleetTask>();
  for (const group of groups.values()) {
    const target = sizes.indexOf(Math.min(...sizes));
    sizes[target] = (sizes[target] ?? 0) + group.length;
    if (target === index - 1) for (const task of group) mine.add(task);
  }
  return tasks.filter((task) => mine.has(task));
}

/** A key for each task, which those have in common that wait for each other, by way of others too. */
function rootsOf(tasks: readonly FleetTask[]): (task: FleetTask) => string {
  const parents = new Map(tasks.map(({ key }) => [key, key]));
  const rootOf = (key: string): string => {
    let root = key;
    for (let above = parents.get(root); above !== undefined && above !== root; above = parents.get(root)) root = above;
    // The next search from here is short.
    for (let at = key; at !== root;) {
      const above = parents.get(at) ?? root;
      parents.set(at, root);
      at = above;
    }
    return root;
  };
  for (const { key, after } of tasks) for (const other of after) parents.set(rootOf(other), rootOf(key));
  return ({ key }) => rootOf(key);
}
