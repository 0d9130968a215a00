import type { CommandSpec } from "../commands.ts";
import { grouped, helpFlag, json, storeFlag, submitFlags, workFlags } from "../flags.ts";
import * as value from "../values.ts";
import { resultFormats } from "../../lib/fleet/formats.ts";

const tasks = {
  tasks: { value: { ...value.file, placeholder: "TASKS" }, about: "The list of tasks; - is stdin", optional: true },
} as const;
const id = { id: { value: value.batchId, about: "The id of a batch, or a unique prefix of it" } } as const;

const events = grouped("Output", { json: { about: "Print events, one JSON object a line" } });

const format = {
  format: {
    value: value.oneOf(...resultFormats),
    group: "Output",
    about:
      "jsonl: a line for each task; junit: for CI; csv: a spreadsheet; patches: a directory with KEY.patch; swebench: " +
      "predictions; html: one page with filters and diffs",
    default: "jsonl",
  },
  output: { short: "o", value: value.file, group: "Output", about: "Write to FILE; for patches, a directory" },
} as const;

const listNeeds = [
  { flag: "repos", other: "prompt" },
  { flag: "prompt", other: "repos" },
  { flag: "publish", other: "repos" },
  { flag: "verify-attempts", other: "verify" },
] as const;

const amendable = ["max-cost", "max-tokens", "retries", "keep-going"];

/** A task keeps what it was submitted with. */
const ofTheList = Object.keys(submitFlags).filter(
  (flag) => !["store", "json", "help", "repos", ...amendable].includes(flag),
);

export const batchCommands = {
  "batch run": {
    about: "Run a list of tasks, each with its own work tree and session",
    details:
      "A task is a line of JSON with key, prompt or prompt_file, and any of repo, ref, dir, options, after, group, labels " +
      "and publish (docs/fleet.md). Flags for the model, permissions and limits are the defaults of every task. stdout has " +
      "a line for each settled task: key, outcome, exit code, cost, seconds and error, separated by tabs. Exits with 0 when " +
      "all tasks are done, with 5 when only limits kept the rest from being done, and otherwise with 3.",
    positionals: tasks,
    flags: {
      ...workFlags,
      resume: { value: value.batchId, group: "Input", about: "Continue this batch, instead of TASKS" },
      results: {
        value: value.directory,
        group: "Output",
        about: "Write results.jsonl and patches to DIR, for koda batch merge",
      },
      ...submitFlags,
      ...events,
    },
    exclusive: [
      ["tasks", "repos", "resume"],
      ...ofTheList.map((flag) => ["resume", flag]),
      ["no-sandbox", "net"],
      ["no-sandbox", "deny-net"],
    ],
    exclusiveReason: { flag: "resume", reason: "the tasks of a batch keep the options they were submitted with" },
    atLeastOne: [["tasks", "repos", "resume"]],
    needs: listNeeds,
    examples: [
      { line: "koda batch run tasks.jsonl -j 4 --max-cost 20", about: "Four at once, for 20 dollars together" },
      {
        line: "koda batch run --repos repos.txt --prompt task.md --keep-going",
        about: "One prompt, many repositories",
      },
      { line: "koda batch run tasks.jsonl --shard 2/8 --results out", about: "A part of the list, without a database" },
      { line: "koda batch run --resume 06q7y2k", about: "Continue after a signal or a crash" },
      { line: "koda batch run --resume 06q7y2k --max-cost 40", about: "Continue with a budget of 40 dollars in all" },
    ],
  },
  "batch submit": {
    about: "Submit a list of tasks for koda worker, and print the id of the batch",
    details: "Takes the list and the flags of koda batch run. Nothing is submitted when a line has a mistake.",
    positionals: tasks,
    flags: submitFlags,
    exclusive: [["tasks", "repos"]],
    atLeastOne: [["tasks", "repos"]],
    needs: listNeeds,
    examples: [
      { line: "koda batch submit tasks.jsonl --keep-going", about: "For koda worker on this machine" },
      {
        line: "koda batch submit tasks.jsonl --store postgres://koda@db.example.com/koda",
        about: "For workers on other machines",
      },
    ],
  },
  "batch status": {
    about: "Show all batches, or the counts, cost and workers of one",
    positionals: { id: { ...id.id, optional: true } },
    flags: { ...storeFlag, ...json, ...helpFlag },
    examples: [
      { line: "koda batch status", about: "All batches, newest first" },
      { line: "koda batch status 06q7y2k --json | jq .counts", about: "One of them" },
    ],
  },
  "batch watch": {
    about: "Follow a batch until it is over",
    details:
      "One line that updates on a terminal, and events in a pipe, one JSON object a line. Exits as koda batch run would.",
    positionals: id,
    flags: { ...storeFlag, ...events, ...helpFlag },
    examples: [{ line: "koda batch watch 06q7y2k", about: "Wait for the end" }],
  },
  "batch cancel": {
    about: "Cancel all tasks of a batch that are not settled",
    positionals: id,
    flags: { ...storeFlag, ...json, ...helpFlag },
    examples: [{ line: "koda batch cancel 06q7y2k", about: "Running tasks stop within a third of --lease" }],
  },
  "batch retry": {
    about: "Queue settled tasks again",
    details:
      "Without KEY and flags: those that are poison, failed, cancelled or skipped. Tasks that were skipped because of one " +
      "of them are queued too. koda batch run --resume ID, or a worker, then runs them.",
    positionals: {
      ...id,
      keys: {
        value: { ...value.text("KEY"), expected: "the key of a task" },
        about: "Only these tasks",
        optional: true,
        many: true,
      },
    },
    flags: {
      failed: { group: "General", about: "Only failed tasks" },
      limits: {
        group: "General",
        about: "Only tasks that ran out of turns, tokens, money or time; they continue where they stopped",
      },
      ...storeFlag,
      ...json,
      ...helpFlag,
    },
    examples: [
      { line: "koda batch retry 06q7y2k", about: "Everything that did not work" },
      { line: "koda batch retry 06q7y2k --limits", about: "Tasks that reached a limit continue where they stopped" },
    ],
  },
  "batch results": {
    about: "Write the results of a batch",
    positionals: id,
    flags: { ...format, ...storeFlag, ...helpFlag },
    examples: [
      { line: "koda batch results 06q7y2k --format html -o report.html", about: "A page for the browser" },
      {
        line: "koda batch results 06q7y2k --format patches -o patches",
        about: "One file for each task that changed files",
      },
      { line: "koda batch results 06q7y2k | jq -r 'select(.outcome == \"failed\").key'", about: "For scripts" },
    ],
  },
  "batch merge": {
    about: "Merge the --results directories of all shards, and exit as one run would",
    details: "Refuses shards of different lists, and shards that overlap or are missing, and names them.",
    positionals: {
      directories: {
        value: { ...value.directory, expected: "a --results directory" },
        about: "A --results directory; name those of all shards",
        many: true,
      },
    },
    flags: {
      ...format,
      results: { value: value.directory, group: "Output", about: "Also write a --results directory of the whole list" },
      ...helpFlag,
    },
    examples: [
      { line: "koda batch merge shard-1 shard-2 --format junit -o report.xml", about: "A report of the whole list" },
    ],
  },
} as const satisfies Readonly<Record<string, CommandSpec>>;
