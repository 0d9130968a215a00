import { type ListErrors, shownJson } from "./listerrors.ts";
import type { Row } from "./row.ts";

/**
 * Keys are names of directories and sessions: two that differ only in case are one on some disks, and `KEY.2` is the
 * second attempt of KEY.
 */
export function checkKeys(rows: readonly Row[], errors: ListErrors): void {
  const lines = new Map<string, Row>();
  for (const row of rows) {
    const { key } = row.task;
    const earlier = lines.get(key.toLowerCase());
    if (earlier === undefined) lines.set(key.toLowerCase(), row);
    else if (earlier.task.key === key)
      errors.add(row.line, `"key" ${shownJson(key)}: already used on line ${earlier.line}, expected a unique key`);
    else
      errors.add(
        row.line,
        `"key" ${shownJson(key)}: it differs from ${shownJson(earlier.task.key)} of line ${earlier.line} only in case, ` +
          "and keys are names of directories",
      );
  }
  for (const { line, task } of rows) {
    const [, start] = /^(.+)\.\d+$/.exec(task.key) ?? [];
    if (start !== undefined && lines.has(start.toLowerCase()))
      errors.add(line, `"key" ${shownJson(task.key)}: a later attempt of "${start}" has the same name`);
  }
}
