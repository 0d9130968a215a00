import { dirname, resolve } from "node:path";
import { KodaError } from "../lib/errors.ts";
import { promptFileReader } from "../lib/fleet/list/promptfile.ts";
import type { RowReading } from "../lib/fleet/list/row.ts";
import { type Shard, tasksOfShard } from "../lib/fleet/list/shards.ts";
import type { TaskList } from "../lib/fleet/list/tasklist.ts";
import { openReader, readToEnd } from "./bytes.ts";
import type { CommandOptions, ExecOptions } from "./options.ts";
import { defaultFlags, openTaskOptions } from "./taskoptions.ts";

type ListOptions = Pick<CommandOptions<"batch submit">, "tasks" | "repos" | "prompt" | "publish" | "shard"> & {
  readonly noSandbox?: boolean;
};

const mostBytes = 1024 * 1024 * 1024;

/** The tasks that the command line names, and of which list and shard they are. */
export type SubmittedList = TaskList & { total: number; shard: Shard };

/** `check` throws a KodaError for options of `koda exec` that a task must not have. */
export async function readList(
  options: ListOptions,
  signal: AbortSignal,
  check?: (options: ExecOptions) => Promise<void>,
): Promise<SubmittedList> {
  const file = options.repos ?? options.tasks ?? "-";
  const isStdin = file === "-";
  const name = isStdin ? "stdin" : file;
  const directory = isStdin ? resolve(".") : dirname(resolve(file));
  const bytes = await bytesOf(file, signal);
  const defaults = defaultFlags({ ...options });
  const read = openTaskOptions({ defaults, directory, noSandbox: options.noSandbox === true, check });
  const reading = { name, directory, defaults: JSON.stringify([...defaults]), options: read };
  const list = await listOf(bytes, options, reading);
  const shard = options.shard ?? { index: 1, of: 1 };
  return { ...list, tasks: tasksOfShard(list.tasks, shard), total: list.tasks.length, shard };
}

type ListReading = Omit<RowReading, "prompt"> & { name: string; defaults: string };

async function listOf(
  bytes: Uint8Array,
  { repos, prompt, publish: branch }: ListOptions,
  reading: ListReading,
): Promise<TaskList> {
  const shared = await reading.options({});
  if ("problems" in shared) throw new KodaError("usage", shared.problems.join("\n"));
  if (repos === undefined || prompt === undefined) {
    const { readTaskList } = await import("../lib/fleet/list/tasklist.ts");
    return await readTaskList(bytes, { ...reading, prompt: promptFileReader(reading.directory) });
  }
  const { readRepositoryList } = await import("../lib/fleet/list/repositorylist.ts");
  const found = promptFileReader(".")(prompt);
  if ("problem" in found)
    throw new KodaError("usage", `Cannot read the prompt "${prompt}" (--prompt): ${found.problem}`);
  return await readRepositoryList(bytes, { ...reading, shared, prompt: found.text, branch });
}

async function bytesOf(file: string, signal: AbortSignal): Promise<Uint8Array> {
  const source = { name: file === "-" ? "stdin" : `the task list "${file}"`, limit: mostBytes, limitName: "1 GiB" };
  if (file === "-") return await readToEnd(openReader(Bun.stdin.stream(), signal), source, signal);
  const { readNamedFile } = await import("./promptfile.ts");
  return await readNamedFile(file, source, signal);
}
