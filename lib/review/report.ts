import type { Review } from "./findings.ts";
import { githubReport } from "./formats/github.ts";
import { gitlabReport } from "./formats/gitlab.ts";
import { jsonReport } from "./formats/json.ts";
import { junitReport } from "./formats/junit.ts";
import { sarifReport } from "./formats/sarif.ts";
import { textReport } from "./formats/text.ts";
import type { ReportFormat } from "./formats.ts";

type ReportOptions = {
  /** The project's place in its repository, which services want in every path: empty, or with a slash at its end. */
  prefix: string;
  version: string;
  /** The width of a line for people. */
  columns: number;
};

export type ReviewReport = (review: Review, options: ReportOptions) => string;

/** The formats of a review. A new one is a row. */
export const reports = {
  text: textReport,
  json: jsonReport,
  sarif: sarifReport,
  github: githubReport,
  gitlab: gitlabReport,
  junit: junitReport,
} as const satisfies Readonly<Record<ReportFormat, ReviewReport>>;
