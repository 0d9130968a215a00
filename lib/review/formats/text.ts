import { counted } from "../../counted.ts";
import { visible, visibleLine } from "../../visible.ts";
import type { PlacedFinding, Review } from "../findings.ts";
import { severities } from "../severity.ts";
import type { ReviewReport } from "../report.ts";

const widest = 100;

/** For people: no line depends on another's width, so it can be read on 40 columns and by a screen reader. */
export const textReport: ReviewReport = (review, { columns }) => {
  const width = Math.min(columns, widest);
  const summary = visible(review.summary).trim();
  const blocks = [
    ...review.findings.map((finding) => blockOf(finding, width)),
    [countsOf(review), ...(summary === "" ? [] : wrapped(summary, width, ""))].join("\n"),
  ];
  return blocks.join("\n\n");
};

function blockOf(
  { severity, path, start_line: start, end_line: end, ...finding }: PlacedFinding,
  width: number,
): string {
  const { title, body, suggestion = "" } = finding;
  const range = end === start ? `${start}` : `${start}-${end}`;
  return [
    `${severity}: ${visibleLine(path)}:${range}`,
    ...wrapped(visibleLine(title), width, "  "),
    ...wrapped(visible(body).trim(), width, "  "),
    // It may be code, whose lines are as they are.
    ...(suggestion.trim() === "" ? [] : ["  Suggestion:", ...indented(visible(suggestion).trimEnd(), "    ")]),
  ].join("\n");
}

/** `3 findings: 1 high, 2 low`. */
function countsOf({ findings }: Review): string {
  if (findings.length === 0) return "No findings";
  const counts = severities.toReversed().flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count === 0 ? [] : [`${count} ${severity}`];
  });
  return `${counted(findings.length, "finding")}: ${counts.join(", ")}`;
}

function indented(text: string, margin: string): string[] {
  return text.split("\n").map((line) => `${margin}${line}`.trimEnd());
}

/** A line that is set in is code or part of a list, and stays as it is. */
function wrapped(text: string, width: number, margin: string): string[] {
  if (text === "") return [];
  const fit = (line: string) => (/^\s/.test(line) ? line : Bun.wrapAnsi(line, width - margin.length));
  return indented(text.split("\n").map(fit).join("\n"), margin);
}
