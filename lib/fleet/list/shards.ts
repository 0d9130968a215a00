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
  const targetOf = smallestFirst(of);
  const mine = new Set<FleetTask>();
  for (const group of groups.values())
    if (targetOf(group.length) === index - 1) group.forEach((task) => mine.add(task));
  return tasks.filter((task) => mine.has(task));
}

/** The first of the smallest parts, which then grows. Those before it are larger, so the search goes on from there. */
function smallestFirst(parts: number): (growth: number) => number {
  const sizes = Array.from({ length: parts }, () => 0);
  let [at, smallest] = [0, 0];
  return (growth) => {
    while ((sizes[at] ?? Infinity) > smallest) {
      at += 1;
      if (at === parts) [at, smallest] = [0, sizes.reduce((one, other) => Math.min(one, other))];
    }
    sizes[at] = (sizes[at] ?? 0) + growth;
    return at;
  };
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
