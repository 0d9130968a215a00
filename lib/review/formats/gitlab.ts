import type { Severity } from "../severity.ts";
import { fingerprintsOf } from "../fingerprint.ts";
import type { ReviewReport } from "../report.ts";

const levels = {
  info: "info",
  low: "minor",
  medium: "major",
  high: "critical",
  critical: "blocker",
} as const satisfies Readonly<Record<Severity, string>>;

/** The Code Quality report of GitLab, which has one line of text for each finding. */
export const gitlabReport: ReviewReport = ({ findings }, { prefix }) => {
  const fingerprints = fingerprintsOf(findings);
  const issues = findings.map(({ path, start_line: begin, end_line: end, severity, title }, at) => ({
    description: title,
    check_name: "koda review",
    fingerprint: fingerprints[at],
    severity: levels[severity],
    location: { path: `${prefix}${path}`, lines: { begin, end } },
  }));
  return JSON.stringify(issues, undefined, 2);
};
