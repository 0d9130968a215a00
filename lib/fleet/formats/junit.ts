import { xmlText } from "../../xml.ts";
import type { ResultSet, ResultWriter } from "../results/resultset.ts";
import type { ResultRow } from "../results/row.ts";
import { countUnsettled } from "../results/tally.ts";

const longestMessage = 10_000;

/** One suite with a test for each task. One that is not settled is an error: nobody knows that it works. */
export const junitResults: ResultWriter = async function* (results) {
  const counts = countsOf(results);
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${counts}>\n`;
  yield `<testsuite name="${xmlText(`koda batch ${results.name}`)}" ${counts}>\n`;
  for await (const row of results.rows()) yield caseOf(row);
  yield "</testsuite>\n</testsuites>\n";
};

function countsOf({ tally: { total, counts, durationMs } }: ResultSet): string {
  const failures = counts.failed + counts.limit;
  const errors = counts.poison + countUnsettled(counts);
  const skipped = counts.skipped + counts.cancelled;
  return `tests="${total}" failures="${failures}" errors="${errors}" skipped="${skipped}" time="${seconds(durationMs)}"`;
}

function caseOf(row: ResultRow): string {
  const { key, repo, group, duration_ms: duration = 0 } = row;
  const names = `name="${xmlText(key)}" classname="${xmlText(repo ?? group)}" time="${seconds(duration)}"`;
  return `  <testcase ${names}>${outcomeOf(row)}</testcase>\n`;
}

function outcomeOf(row: ResultRow): string {
  switch (row.outcome) {
    case "done":
      return "";
    case "failed":
    case "limit":
      return fault("failure", row);
    case "skipped":
      return `<skipped message="${xmlText(skippedWords(row))}"/>`;
    case "cancelled":
      return '<skipped message="cancelled"/>';
    case "poison":
    case "waiting":
    case "queued":
    case "running":
      return fault("error", row);
    default:
      return row.outcome satisfies never;
  }
}

function skippedWords({ after = [] }: ResultRow): string {
  return after.length === 0 ? "skipped" : `skipped: it waits for ${after.join(", ")}`.slice(0, longestMessage);
}

function fault(element: "failure" | "error", { outcome, error, exit }: ResultRow): string {
  const message = (error?.message ?? `the task is ${outcome}`).slice(0, longestMessage);
  const type = error?.code ?? outcome;
  const how = exit === undefined ? outcome : `${outcome}, exit ${exit}`;
  const text = xmlText(`${how}: ${message}`);
  return `<${element} message="${xmlText(message)}" type="${xmlText(type)}">${text}</${element}>`;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}
