import type { Finding } from "../findings.ts";
import type { ReviewReport } from "../report.ts";
import { xmlText } from "../../xml.ts";
import { bodyOf } from "./words.ts";

/** One suite, in which each finding is a test that has failed. */
export const junitReport: ReviewReport = ({ findings }) => {
  const counts = `tests="${findings.length}" failures="${findings.length}" errors="0"`;
  const suite = [`<testsuite name="koda review" ${counts}>`, ...findings.map(caseOf), "</testsuite>"];
  return ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuites ${counts}>`, ...suite, "</testsuites>"].join("\n");
};

function caseOf(finding: Finding): string {
  const { path, start_line: line, severity, title } = finding;
  const where = `name="${xmlText(title)}" classname="${xmlText(path)}" file="${xmlText(path)}" line="${line}"`;
  const message = `message="${xmlText(`${path}:${line} ${title}`)}" type="${severity}"`;
  return `  <testcase ${where}><failure ${message}>${xmlText(bodyOf(finding))}</failure></testcase>`;
}
