import { withCommas } from "../../counted.ts";
import { formatElapsed } from "../../config/units.ts";
import { hashForPolicy, pageHead } from "../../session/htmlpage.ts";
import { visible } from "../../visible.ts";
import { emptyTally, addToTally, type Tally } from "../results/tally.ts";
import type { ResultSet, ResultWriter } from "../results/resultset.ts";
import type { ResultRow } from "../results/row.ts";
import { taskStates } from "../store.ts";
import { htmlOfPatch } from "./htmldiff.ts";
import { reportScript, reportStyle } from "./htmlparts.ts";

/**
 * One page that needs nothing else. The text of results is escaped, and the page forbids itself the network and every
 * script but its own, which filters. The sums come last and are shown first: they are those of the tasks above them.
 */
export const htmlResults: ResultWriter = async function* (results) {
  yield begin(results.name);
  const tally = emptyTally();
  for await (const row of results.rows()) {
    addToTally(tally, row);
    yield await htmlOfTask(row, results);
  }
  yield `</main>\n${sums(tally)}<script>${reportScript}</script>\n</body>\n</html>\n`;
};

function begin(name: string): string {
  const title = visible(`koda batch ${name}`);
  const head = pageHead({ title, style: reportStyle, allows: `script-src ${hashForPolicy(reportScript)}` });
  return `${head}<header><h1>${escaped(title)}</h1></header>
<main>
`;
}

function sums({ total, counts, costUsd, isUnpriced, tokens, durationMs }: Tally): string {
  const present = taskStates.filter((state) => counts[state] > 0);
  const boxes = present.map(
    (state) =>
      `<label class="${state}"><input type="checkbox" value="${state}" checked> ${state} ${withCommas(counts[state])}</label>`,
  );
  const figures = [
    `${withCommas(total)} tasks`,
    isUnpriced && costUsd === 0 ? "cost unknown" : `${isUnpriced ? "at least " : ""}$${costUsd.toFixed(4)}`,
    `${withCommas(tokens)} tokens`,
    `${formatElapsed(durationMs)} of work`,
  ];
  return `<div id="sums">
<ul>${figures.map((figure) => `<li>${figure}</li>`).join("")}</ul>
<form id="filters">
${boxes.join("\n")}
<label>at least $ <input type="number" name="cost" min="0" step="any"></label>
<label>at least <input type="number" name="seconds" min="0" step="any"> s</label>
<label>key <input type="search" name="words"></label>
</form>
<p id="shown"></p>
</div>
`;
}

async function htmlOfTask(row: ResultRow, { patch, tally }: ResultSet): Promise<string> {
  const { key, outcome, cost_usd: cost, duration_ms: ms = 0 } = row;
  const data = `data-outcome="${outcome}" data-cost="${cost ?? 0}" data-ms="${ms}" data-key="${escaped(key)}"`;
  const why = row.error?.message ?? answerOf(row);
  const cells =
    `<span class="key">${escaped(key)}</span><span class="${outcome}">${outcome}</span>` +
    `<span class="number">${cost === null ? "" : `$${cost.toFixed(4)}`}</span>` +
    `<span class="number">${formatElapsed(ms)}</span>` +
    `<span class="why">${escaped(why.slice(0, longestLine))}</span>`;
  const bytes = row.patch ? await patch(key) : undefined;
  const diff = bytes === undefined ? "" : htmlOfPatch(bytes, tally.total);
  return `<details class="task" ${data}><summary>${cells}</summary><div class="more">${factsOf(row)}${diff}</div></details>\n`;
}

const longestLine = 300;
const longestAnswer = 20_000;

function answerOf({ end }: ResultRow): string {
  const text = end?.["text"];
  return typeof text === "string" ? text : "";
}

function factsOf(row: ResultRow): string {
  const { exit, error, after, attempts, tokens, model, repo, ref, branch, commit, session } = row;
  const facts: [string, string | undefined][] = [
    ["exit", exit === undefined ? undefined : String(exit)],
    ["error", error === undefined ? undefined : `${error.code}: ${error.message}`],
    ["waits for", after?.join(", ")],
    [
      "attempts",
      attempts
        .map(({ kind, host, exit: code }) => `${kind}${code === undefined ? "" : ` (exit ${code})`} on ${host}`)
        .join("; "),
    ],
    ["tokens", withCommas(tokens)],
    ["model", model],
    ["repository", repo === undefined ? undefined : `${repo} ${ref ?? ""}`],
    ["branch", branch === undefined ? undefined : `${branch} ${commit ?? ""}`],
    ["session", session],
  ];
  const rows = facts.map(([name, value]) =>
    value === undefined ? "" : `<dt>${name}</dt><dd>${escaped(value.slice(0, longestAnswer))}</dd>`,
  );
  const answer = answerOf(row);
  return `<dl>${rows.join("")}</dl>${answer === "" ? "" : `<pre>${escaped(answer.slice(0, longestAnswer))}</pre>`}`;
}

/** For text and quoted attributes alike. */
function escaped(text: string): string {
  return Bun.escapeHTML(visible(text.toWellFormed()));
}
