import { isRecord, readJson } from "../../config/json.ts";
import type { FleetTask } from "../task.ts";
import { checkBranches } from "./branches.ts";
import { ListErrors } from "./listerrors.ts";
import { checkKeys } from "./keys.ts";
import { listLines, nothingIn } from "./lines.ts";
import { checkOrder } from "./order.ts";
import { readRow, type Row, type RowReading } from "./row.ts";

/** `digest`: two lists with the same one have the same tasks, wherever they lie. */
export type TaskList = { tasks: FleetTask[]; digest: string };

/** A task list: one JSON object a line. Every mistake is named, and then there is no list. */
export async function readTaskList(
  bytes: Uint8Array,
  { name, defaults, ...reading }: RowReading & { name: string; defaults: string },
): Promise<TaskList> {
  const errors = new ListErrors(name);
  const hasher = new Bun.CryptoHasher("sha256").update(`${defaults}\n`);
  const rows: Row[] = [];
  for (const line of listLines(bytes, errors)) {
    const row = await readRow(line, errors, reading);
    if (row === undefined) continue;
    rows.push(row);
    hasher.update(JSON.stringify([line.text.trim(), row.task.prompt, row.task.schema ?? null]));
  }
  checkKeys(rows, errors);
  checkBranches(rows, errors);
  checkOrder(
    rows.map(({ line, task }) => ({ line, key: task.key, after: task.after })),
    errors,
  );
  const [first] = errors.any ? listLines(bytes, new ListErrors(name)) : [];
  errors.assertNone(first === undefined || isRecord(readJson(first.text).value) ? undefined : expectedLines);
  if (rows.length === 0) throw nothingIn(name);
  return { tasks: rows.map(({ task }) => task), digest: hasher.digest("hex") };
}

const expectedLines =
  `Expected one JSON object per line, as in {"key":"a","prompt":"…"}; jq -c '.[]' turns an array into lines, ` +
  "and --repos takes a list of repositories.";
