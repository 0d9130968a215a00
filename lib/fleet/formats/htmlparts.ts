/** For a wide screen, a phone, either brightness, and paper. */
export const reportStyle = `
:root {
  color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif;
  --text: #1f2328; --page: #fff; --quiet: #59636e; --line: #d1d9e0; --code: #f6f8fa;
  --good: #1a7f37; --bad: #cf222e; --warn: #9a6700; --added: #dafbe1; --removed: #ffebe9; --hunk: #ddf4ff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6edf3; --page: #0d1117; --quiet: #9198a1; --line: #3d444d; --code: #151b23;
    --good: #3fb950; --bad: #f85149; --warn: #d29922; --added: #12261e; --removed: #2d1518; --hunk: #121d2f;
  }
}
* { box-sizing: border-box; }
body { max-width: 75rem; margin: 0 auto; padding: 1rem 1rem 4rem; color: var(--text); background: var(--page);
  overflow-wrap: anywhere; display: flex; flex-direction: column; }
h1 { font-size: 1.5rem; margin: 0.5rem 0; }
header { order: -2; }
#sums { order: -1; position: sticky; top: 0; z-index: 1; padding: 0.5rem 0 0.75rem; background: var(--page);
  border-bottom: 1px solid var(--line); }
#sums ul { display: flex; flex-wrap: wrap; gap: 0.3rem 1.2rem; margin: 0.4rem 0; padding: 0; list-style: none; }
#filters { display: flex; flex-wrap: wrap; gap: 0.5rem 1.2rem; margin: 0; padding: 0; border: 0; }
#filters input[type=number] { width: 6rem; }
#filters input[type=search] { width: 14rem; max-width: 100%; }
input { font: inherit; color: inherit; background: var(--code); border: 1px solid var(--line); border-radius: 0.3rem;
  padding: 0.1rem 0.4rem; }
label { white-space: nowrap; }
#shown { margin: 0.5rem 0 0; color: var(--quiet); }
.task { border-bottom: 1px solid var(--line); content-visibility: auto; contain-intrinsic-size: auto 2.4rem; }
.task[hidden] { display: none; }
.task > summary { display: grid; grid-template-columns: minmax(8rem, 2fr) 6rem 6rem 6rem minmax(8rem, 4fr);
  gap: 0.2rem 1rem; padding: 0.4rem 0.2rem; cursor: pointer; }
.task > summary:hover { background: var(--code); }
.key { font-weight: 600; }
.key::before { content: "\u25b8 "; color: var(--quiet); }
.task[open] .key::before { content: "\u25be "; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.why { color: var(--quiet); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.done { color: var(--good); }
.failed, .poison { color: var(--bad); }
.limit, .cancelled, .skipped, .waiting, .queued, .running { color: var(--warn); }
.more { padding: 0.2rem 0.2rem 1rem 1rem; }
.more dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; margin: 0.3rem 0;
  font-size: 0.9rem; }
.more dt { color: var(--quiet); }
.more dd { margin: 0; }
pre { margin: 0.5rem 0; padding: 0.6rem 0.8rem; border: 1px solid var(--line); border-radius: 0.4rem;
  background: var(--code); font: 0.85rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  white-space: pre-wrap; }
pre.diff { padding: 0.4rem 0; }
pre.diff span { display: block; padding: 0 0.8rem; min-height: 1.45em; }
.added { background: var(--added); }
.removed { background: var(--removed); }
.hunk { background: var(--hunk); color: var(--quiet); }
.file { font-weight: 600; }
@media (max-width: 45rem) {
  .task > summary { grid-template-columns: 1fr auto auto; }
  .why { grid-column: 1 / -1; }
}
@media print { #filters { display: none; } #sums { position: static; } }
`;

/**
 * The page's only script, allowed by its hash: it shows the tasks that pass the filters. It reads nothing but numbers,
 * outcomes and keys, and writes only text.
 */
export const reportScript = `
"use strict";
const tasks = [...document.querySelectorAll(".task")];
const filters = document.getElementById("filters");
const numberOf = (name) => Number(filters.elements[name].value) || 0;
function apply() {
  const outcomes = new Set([...filters.querySelectorAll("input[type=checkbox]:checked")].map((box) => box.value));
  const cost = numberOf("cost");
  const seconds = numberOf("seconds");
  const words = filters.elements.words.value.toLowerCase();
  let shown = 0, sumCost = 0, sumMs = 0;
  for (const task of tasks) {
    const { outcome, cost: usd, ms, key } = task.dataset;
    const passes = outcomes.has(outcome) && Number(usd) >= cost && Number(ms) >= seconds * 1000 &&
      key.toLowerCase().includes(words);
    task.hidden = !passes;
    if (!passes) continue;
    shown += 1;
    sumCost += Number(usd);
    sumMs += Number(ms);
  }
  document.getElementById("shown").textContent =
    shown + " of " + tasks.length + " shown, $" + sumCost.toFixed(4) + ", " + (sumMs / 1000).toFixed(1) + " s";
}
filters.addEventListener("input", apply);
apply();
`;
